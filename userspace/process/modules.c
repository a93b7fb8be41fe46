/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "process/modules.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "process/file_pages.h"
#include "process/maps.h"
#include "process/proc_file.h"
#include "base/cleanup.h"
#include "base/file.h"
#include "base/map.h"
#include "base/path.h"
#include "elf/elf_file.h"

#define PAGE_BYTES 4096

struct loader {
	struct module_list list;
	struct map by_maps; /* (device, inode) as maps has them -> index */
	struct map by_file; /* (device, inode) of the open file -> index */
	const struct target *targets;
	size_t target_index;
	struct stat executable; /* of the target that is being read */
	char *root;		/* what precedes its paths as we see them: a chroot; "" usually */
};

/* ---- names
 * ------------------------------------------------------------------------------------------ */

static int name_add(struct code_module *module, const char *name, size_t length)
{
	char **names;

	if (!length)
		return 0;
	for (size_t i = 0; i < module->name_count; i++) {
		if (strlen(module->names[i]) == length && !memcmp(module->names[i], name, length))
			return 0;
	}
	names = reallocarray(module->names, module->name_count + 1, sizeof(*names));
	if (!names)
		return -ENOMEM;
	module->names = names;
	names[module->name_count] = strndup(name, length);
	if (!names[module->name_count])
		return -ENOMEM;
	module->name_count++;
	return 0;
}

/*
 * Programs are started through links ("redis-server" is one to redis-check-rdb on Debian) and
 * rewrite argv[0] into a title ("redis-server *:6379", "nginx: worker process", "-bash"): its first
 * word counts.
 */
static int started_names_add(struct code_module *module, const struct target *target)
{
	_cleanup_free_ char *arguments = NULL;
	char *first, *base;
	size_t length;

	if (name_add(module, target->comm, strlen(target->comm)))
		return -ENOMEM;
	if (proc_file_read(target->proc_fd, "cmdline", &arguments, NULL))
		return 0;
	if (name_add(module, path_base_name(arguments), strlen(path_base_name(arguments))))
		return -ENOMEM;
	first = arguments + (arguments[0] == '-');
	first[strcspn(first, " ")] = 0;
	base = strrchr(first, '/') ? strrchr(first, '/') + 1 : first;
	length = strlen(base);
	if (length && base[length - 1] == ':')
		length--;
	return name_add(module, base, length);
}

/* What is read from the file itself. A file that is no ELF (some JITs map their own) has neither.
 */
static int file_facts_read(struct code_module *module)
{
	u8 build_id[ELF_BUILD_ID_MAX_BYTES] = {0};
	_cleanup_free_ char *soname = NULL;
	struct elf_file *file;

	if (elf_file_open(module->fd, module->path, &file, NULL))
		return 0;
	elf_file_build_id(file, build_id);
	memcpy(module->build_id, build_id, sizeof(module->build_id));
	soname = elf_file_soname(file);
	elf_file_free(file);
	return soname ? name_add(module, soname, strlen(soname)) : 0;
}

/* ---- opening
 * ---------------------------------------------------------------------------------------- */

/* By the mapping itself; where that is not permitted (it takes CAP_CHECKPOINT_RESTORE), as the
 * executable or by name, if the file there still is the one that is mapped. */
static int mapping_open(const struct loader *loader, const struct maps_line *line, const char *path,
			struct stat *ret_status)
{
	const struct target *target = &loader->targets[loader->target_index];
	int fd = maps_file_open(target->proc_fd, line, ret_status);

	if (fd != -EPERM && fd != -EACCES)
		return fd;
	if (line->inode == loader->executable.st_ino)
		return file_open_plain(target->proc_fd, "exe", ret_status);
	_cleanup_free_ char *name = NULL;

	if (asprintf(&name, "%s%s", target->root_path, path) < 0)
		return -ENOMEM;
	fd = file_open_plain(AT_FDCWD, name, ret_status);
	if (fd >= 0 && ret_status->st_ino != line->inode) {
		close(fd);
		return -ESTALE;
	}
	return fd;
}

static int target_note(struct code_module *module, size_t target)
{
	size_t *targets;

	if (module->target_count && module->targets[module->target_count - 1] == target)
		return 0;
	targets = reallocarray(module->targets, module->target_count + 1, sizeof(*targets));
	if (!targets)
		return -ENOMEM;
	module->targets = targets;
	targets[module->target_count++] = target;
	return 0;
}

/* Targets map the same ranges as a rule, each is kept once. */
static int range_note(struct code_module *module, const struct maps_line *line)
{
	struct mapped_range range = {line->file_offset, line->end - line->start}, *ranges;

	for (size_t i = 0; i < module->range_count; i++) {
		if (module->ranges[i].file_offset == range.file_offset &&
		    module->ranges[i].size_bytes == range.size_bytes)
			return 0;
	}
	ranges = reallocarray(module->ranges, module->range_count + 1, sizeof(*ranges));
	if (!ranges)
		return -ENOMEM;
	module->ranges = ranges;
	ranges[module->range_count++] = range;
	return 0;
}

static struct code_module *module_append(struct module_list *list)
{
	struct code_module *items =
		reallocarray(list->items, list->count + 1, sizeof(*list->items));

	if (!items)
		return NULL;
	list->items = items;
	items[list->count] = (struct code_module){.fd = -1};
	return &items[list->count++];
}

static void module_place(struct code_module *module, const struct maps_line *line)
{
	module->start = line->start;
	module->end = line->end;
	module->file_offset = line->file_offset;
}

static struct file_numbers numbers_of(const struct maps_line *line, const struct stat *status)
{
	return (struct file_numbers){status->st_dev, status->st_ino, line->device, line->inode};
}

static int twin_add(struct code_module *module, const struct file_numbers *numbers)
{
	struct file_numbers *twins =
		reallocarray(module->twins, module->twin_count + 1, sizeof(*twins));

	if (!twins)
		return -ENOMEM;
	module->twins = twins;
	twins[module->twin_count++] = *numbers;
	return 0;
}

/* The same file by another overlay; SIZE_MAX: none is known. Uprobes go by the file below. */
static size_t twin_find(const struct module_list *list, int fd, const char *path)
{
	bool overlay = file_pages_is_overlay(fd);

	for (size_t i = 0; i < list->count && overlay; i++) {
		const struct code_module *module = &list->items[i];

		if (module->overlay &&
		    !strcmp(path_base_name(module->path), path_base_name(path)) &&
		    file_pages_are_shared(module->fd, fd))
			return i;
	}
	return SIZE_MAX;
}

static int module_fill(struct loader *loader, struct code_module *module,
		       const struct maps_line *line, const struct stat *status, char *path)
{
	module->path = path;
	module->numbers = numbers_of(line, status);
	module->overlay = file_pages_is_overlay(module->fd);
	module->deleted = status->st_nlink == 0;
	module_place(module, line);
	if (name_add(module, path_base_name(path), strlen(path_base_name(path))))
		return -ENOMEM;
	return file_facts_read(module);
}

/* Enters the mapping of a file that is not known by its numbers in maps. */
static int mapping_add(struct loader *loader, const struct maps_line *line, u64 *ret_index)
{
	_cleanup_free_ char *path = path_from_proc(line->path, loader->root, NULL);
	_cleanup_close_ int fd = -1;
	struct code_module *module;
	struct file_numbers numbers;
	struct stat status;
	size_t twin;
	u64 *known;

	if (!path)
		return -ENOMEM;
	fd = mapping_open(loader, line, path, &status);
	if (fd < 0)
		return fd;
	known = map_find(&loader->by_file, status.st_dev, status.st_ino);
	if (known) {
		*ret_index = *known;
		return 0;
	}
	twin = twin_find(&loader->list, fd, path);
	if (twin != SIZE_MAX) {
		*ret_index = twin;
		numbers = numbers_of(line, &status);
		if (twin_add(&loader->list.items[twin], &numbers))
			return -ENOMEM;
		return map_set(&loader->by_file, status.st_dev, status.st_ino, twin);
	}
	module = module_append(&loader->list);
	if (!module)
		return -ENOMEM;
	module->fd = take_fd(&fd);
	*ret_index = loader->list.count - 1;
	if (module_fill(loader, module, line, &status, take_pointer(&path)))
		return -ENOMEM;
	return map_set(&loader->by_file, status.st_dev, status.st_ino, *ret_index);
}

static int mapping_visit(struct loader *loader, const struct maps_line *line)
{
	const struct target *target = &loader->targets[loader->target_index];
	u64 *known = map_find(&loader->by_maps, line->device, line->inode), index;
	struct code_module *module;
	int result;

	if (known) {
		index = *known;
	} else {
		result = mapping_add(loader, line, &index);
		/* Unmapped since we read the list, a device, or not ours to read: not among the
		 * files. */
		if (result)
			return result == -ENOMEM ? result : 0;
		if (map_set(&loader->by_maps, line->device, line->inode, index))
			return -ENOMEM;
	}
	module = &loader->list.items[index];
	if (target_note(module, loader->target_index) || range_note(module, line))
		return -ENOMEM;
	/* Not a part that a program has mapped once more, as node does to have its built-in functions near to what it
	 * compiles: that is not where the loader put the file. */
	if (module->targets[0] == loader->target_index && line->file_offset < module->file_offset)
		module_place(module, line);
	if (!module_is_file(module, loader->executable.st_dev, loader->executable.st_ino))
		return 0;
	module->main_executable = true;
	return started_names_add(module, target);
}

static int target_modules_load(struct loader *loader, struct err *err)
{
	const struct target *target = &loader->targets[loader->target_index];
	_cleanup_free_ char *maps = NULL, *root = NULL;
	struct maps_line line;
	int result;

	result = proc_file_read(target->proc_fd, "maps", &maps, NULL);
	if (result)
		return err_errno(err, result, "can't read /proc/%u/maps", target->pid);
	if (fstatat(target->proc_fd, "exe", &loader->executable, 0) < 0)
		return err_errno(err, -errno, "can't read /proc/%u/exe", target->pid);
	if (proc_link_read(target->proc_fd, "root", &root) || strcmp(root, "/") == 0)
		loader->root = (char *)"";
	else
		loader->root = root;
	for (char *at = maps; maps_next(&at, &line);) {
		if (!line.executable || !line.inode || !line.path[0])
			continue;
		result = mapping_visit(loader, &line);
		if (result)
			return err_errno(err, result, "can't read the files that %u maps",
					 target->pid);
	}
	return 0;
}

/* Its memory goes before it is a zombie. */
static bool has_ended(const struct target *target, int result)
{
	return result == -ESRCH || result == -ENOENT || target_is_gone(target);
}

static int module_compare(const void *left, const void *right)
{
	const struct code_module *a = left, *b = right;

	if (a->main_executable != b->main_executable)
		return a->main_executable ? -1 : 1;
	return strcmp(a->path, b->path);
}

void modules_sort(struct module_list *list)
{
	if (list->count)
		qsort(list->items, list->count, sizeof(*list->items), module_compare);
}

int modules_load(const struct target *targets, size_t target_count, struct module_list *ret_list,
		 struct err *err)
{
	struct loader loader = {.targets = targets};
	size_t ended_count = 0;
	int result = 0;

	for (size_t i = 0; i < target_count && !result; i++) {
		loader.target_index = i;
		result = target_modules_load(&loader, err);
		/* One of several, such as a server's worker that answered its one request meanwhile: the others are
		 * still to be recorded. */
		if (result && has_ended(&targets[i], result) && ++ended_count < target_count)
			result = 0;
		/* The same device numbers can mean other files in another mount namespace. */
		map_free(&loader.by_maps);
		loader.by_maps = (struct map){0};
	}
	map_free(&loader.by_file);
	if (result) {
		modules_free(&loader.list);
		return result;
	}
	modules_sort(&loader.list);
	*ret_list = loader.list;
	return 0;
}

/* ---- files of later
 * -------------------------------------------------------------------------------------- */

/* As the loader will map them, each range alone. */
static int ranges_read(struct code_module *module)
{
	const struct elf_segment *segments;
	struct elf_file *file;
	size_t count;
	int result = elf_file_open(module->fd, module->path, &file, NULL);

	if (result)
		return result == -ENOMEM ? result : -ENOEXEC;
	count = elf_file_segments(file, true, &segments);
	for (size_t i = 0; i < count && !result; i++) {
		u64 page = segments[i].offset % PAGE_BYTES;
		struct maps_line line = {.start = segments[i].address - page,
					 .end = segments[i].address + segments[i].file_size_bytes,
					 .file_offset = segments[i].offset - page};

		if (!module->range_count)
			module_place(module, &line);
		result = range_note(module, &line);
	}
	elf_file_free(file);
	return result ? result : module->range_count ? 0 : -ENOEXEC;
}

static struct code_module *module_of_file(const struct module_list *list, const struct stat *status)
{
	for (size_t i = 0; i < list->count; i++)
		if (module_is_file(&list->items[i], status->st_dev, status->st_ino))
			return &list->items[i];
	return NULL;
}

int modules_add_later(struct module_list *list, const struct target *targets, size_t target,
		      const char *path)
{
	_cleanup_free_ char *full = NULL;
	_cleanup_close_ int fd = -1;
	struct code_module *module;
	struct stat status;
	int result;

	if (asprintf(&full, "%s%s", targets[target].root_path, path) < 0)
		return -ENOMEM;
	fd = file_open_plain(AT_FDCWD, full, &status);
	if (fd < 0)
		return -ENOENT;
	module = module_of_file(list, &status);
	if (module)
		return module_is_mapped_by(module, target) ? 0 : target_note(module, target);
	module = module_append(list);
	if (!module)
		return -ENOMEM;
	module->fd = take_fd(&fd);
	module->later = true;
	module->path = strdup(path);
	module->numbers =
		(struct file_numbers){status.st_dev, status.st_ino, status.st_dev, status.st_ino};
	if (!module->path || target_note(module, target) ||
	    name_add(module, path_base_name(path), strlen(path_base_name(path))))
		return -ENOMEM;
	module->overlay = file_pages_is_overlay(module->fd);
	result = file_facts_read(module);
	if (!result)
		result = ranges_read(module);
	return result;
}

void modules_free(struct module_list *list)
{
	for (size_t i = 0; i < list->count; i++) {
		struct code_module *module = &list->items[i];

		for (size_t j = 0; j < module->name_count; j++)
			free(module->names[j]);
		free(module->names);
		free(module->targets);
		free(module->ranges);
		free(module->twins);
		free(module->path);
		cleanup_close(&module->fd);
	}
	free(list->items);
	*list = (struct module_list){0};
}

bool module_is_mapped_by(const struct code_module *module, size_t target)
{
	for (size_t i = 0; i < module->target_count; i++)
		if (module->targets[i] == target)
			return true;
	return false;
}

static bool is_mapped_as(const struct file_numbers *numbers, u64 maps_device, u64 maps_inode)
{
	return numbers->maps_device == maps_device && numbers->maps_inode == maps_inode;
}

bool module_is_mapped_as(const struct code_module *module, u64 maps_device, u64 maps_inode)
{
	bool is = is_mapped_as(&module->numbers, maps_device, maps_inode);

	for (size_t i = 0; i < module->twin_count && !is; i++)
		is = is_mapped_as(&module->twins[i], maps_device, maps_inode);
	return is;
}

bool module_is_file(const struct code_module *module, u64 device, u64 inode)
{
	bool is = module->numbers.device == device && module->numbers.inode == inode;

	for (size_t i = 0; i < module->twin_count && !is; i++)
		is = module->twins[i].device == device && module->twins[i].inode == inode;
	return is;
}
