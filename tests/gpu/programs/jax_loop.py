# SPDX-License-Identifier: GPL-2.0-or-later
"""JAX, one compiled step after the other, told what to do as launches.cu is: "run N"."""
import json
import sys
import time

import jax
import jax.numpy as jnp

if jax.default_backend() != "gpu":
	sys.exit("JAX has no GPU here")


@jax.jit
def step(x, y):
	return jax.nn.softmax(jnp.tanh(x @ y) + 1.0, axis=1)


x = jax.random.normal(jax.random.PRNGKey(0), (256, 256))
y = jax.random.normal(jax.random.PRNGKey(1), (256, 256))
step(x, y).block_until_ready()
print("ready", flush=True)
for line in sys.stdin:
	steps = int(line.split()[1])
	start = time.monotonic()
	for _ in range(steps):
		z = step(x, y)
	z.block_until_ready()
	print(json.dumps({"seconds": time.monotonic() - start}), flush=True)
