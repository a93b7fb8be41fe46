# SPDX-License-Identifier: GPL-2.0-or-later
"""Trains and computes on the CPU: convolutions, a transformer, decompositions."""
import time

import torch

torch.set_num_threads(2)
model = torch.nn.Sequential(torch.nn.Conv2d(3, 16, 3), torch.nn.ReLU(), torch.nn.Conv2d(16, 32, 3), torch.nn.ReLU(), torch.nn.Flatten(),
			    torch.nn.Linear(32 * 28 * 28, 256), torch.nn.GELU(), torch.nn.Linear(256, 10))
optimizer = torch.optim.Adam(model.parameters())
layer = torch.nn.TransformerEncoderLayer(128, 4, batch_first=True)
images, classes, words = torch.randn(16, 3, 32, 32), torch.randint(0, 10, (16,)), torch.randn(8, 64, 128)
print("ready", flush=True)
while True:
	optimizer.zero_grad()
	torch.nn.functional.cross_entropy(model(images), classes).backward()
	optimizer.step()
	layer(words).sum().backward()
	matrix = torch.randn(200, 200)
	torch.linalg.svd(matrix)
	(matrix @ matrix).sum().item()
	time.sleep(0.001)
