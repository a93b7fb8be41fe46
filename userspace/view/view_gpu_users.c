/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Who else uses a GPU. */
#include <string.h>

#include "view/view.h"

static bool is_recorded(const struct view *view, u32 pid)
{
	size_t count;
	const struct record_header *const *devices = view_facts(view, KIND_device, &count);

	for (size_t i = 0; i < count; i++)
		if (devices[i] && devices[i]->pid == pid)
			return true;
	return false;
}

static bool is_user_of(const struct view *view, const struct record_header *fact, u32 device)
{
	const struct record_gpu_user *user = (const struct record_gpu_user *)fact;

	return user &&
	       (user->device == device ||
		view_is_same_gpu(view_fact(view, KIND_device, user->device),
				 view_fact(view, KIND_device, device))) &&
	       !is_recorded(view, user->user);
}

bool view_append_gpu_users(const struct view *view, u32 device, struct text *text)
{
	size_t count;
	const struct record_header *const *facts = view_facts(view, KIND_gpu_user, &count);
	bool any = false;

	for (size_t i = 0; i < count; i++) {
		const struct record_gpu_user *user = (const struct record_gpu_user *)facts[i];
		bool known = !is_user_of(view, facts[i], device);

		for (size_t j = 0; j < i && !known; j++)
			known = is_user_of(view, facts[j], device) &&
				((const struct record_gpu_user *)facts[j])->user == user->user;
		if (known)
			continue;
		text_append(text, any ? ", " : "");
		if (user->comm[0])
			text_append_terminal(text, (const char *)user->comm,
					     strnlen((const char *)user->comm, sizeof(user->comm)));
		else
			text_append(text, "process");
		text_appendf(text, " (%u)", user->user);
		any = true;
	}
	return any;
}
