/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A file of code. Files come from the target and are untrusted and may change under us, so they are read
 * (never mapped), and every offset in them is checked. 64-bit x86-64 little-endian ELF only.
 */
#ifndef GPUPROBE_ELF_ELF_FILE_H
#define GPUPROBE_ELF_ELF_FILE_H

#include <sys/types.h>

#include "base/err.h"
#include "base/types.h"

#define ELF_BUILD_ID_MAX_BYTES 64

struct elf_file;

/* fd stays the caller's and must stay open. path is the file's as the target sees it: for messages, and
 * to look up its debug file. */
int elf_file_open(int fd, const char *path, struct elf_file **ret_file, struct err *err);
struct elf_file *elf_file_free(struct elf_file *file); /* NULL allowed; returns NULL */

/* GNU build id; 0 bytes when it has none. At most 64 are copied. Returns the number of bytes. */
size_t elf_file_build_id(const struct elf_file *file, u8 ret_id[ELF_BUILD_ID_MAX_BYTES]);
/* File offset of a virtual address in an executable PT_LOAD; -ENOENT when it lies in none. */
int elf_file_offset(const struct elf_file *file, u64 address, u64 *ret_offset);
/* The other way round. */
int elf_file_address(const struct elf_file *file, u64 offset, u64 *ret_address);
/* Up to size bytes of the file at offset; returns how many. */
ssize_t elf_file_read(const struct elf_file *file, u64 offset, void *ret_bytes, size_t size);
/* Up to size bytes at a virtual address of any PT_LOAD; returns how many. */
size_t elf_file_read_address(const struct elf_file *file, u64 address, void *ret_bytes, size_t size);

/* For many small reads near each other: keeps the bytes behind the last address that was not among those that it had. NULL: out of
 * memory. The caller frees it with free(). */
struct elf_window;
struct elf_window *elf_window_create(const struct elf_file *file, size_t bytes);
/* As elf_file_read_address(), of the window's size at most. */
size_t elf_window_read(struct elf_window *window, u64 address, void *ret_bytes, size_t size);

/* Is there a byte of the file at a virtual address? */
bool elf_file_holds_address(const struct elf_file *file, u64 address);

/* A PT_LOAD, as far as it is in the file. */
struct elf_segment {
	u64 address;
	u64 offset;
	u64 file_size_bytes;
};

/* All of them, or the executable ones; they stay the file's. */
size_t elf_file_segments(const struct elf_file *file, bool executable, const struct elf_segment **ret_segments);
/* Where its code is: the sections that hold instructions, as far as executable PT_LOADs hold them; of a file without a
 * table of sections these as a whole. Constants and code for GPUs often stand in an executable PT_LOAD too, and take most
 * of it. The caller frees. Returns how many, or -ENOMEM. */
ssize_t elf_file_code(const struct elf_file *file, struct elf_segment **ret_pieces);
/* Is it loaded at any address (PIE, shared library), so that pointers in it are relocations? */
bool elf_file_is_movable(const struct elf_file *file);
/* Calls visit with each address in the file that a relocation makes a pointer to. Damaged tables are read as far
 * as they go. */
void elf_file_pointers(const struct elf_file *file, void (*visit)(void *data, u64 address), void *data);

#define ELF_BINDING_NAME_MAX_BYTES 128

/* What a pointer in the file is bound to when it is loaded. */
struct elf_binding {
	char name[ELF_BINDING_NAME_MAX_BYTES]; /* of the symbol; empty: it has none, or a longer one */
	u64 address;			       /* in this file, where it is one of this file's; else 0 */
	bool resolver;			       /* that is the function that tells which one it is (IFUNC) */
};

/* By the relocation of the 8 bytes at this address. Of a symbol that this file has itself another file's may be taken
 * instead. -ENOENT: there is none, of a kind that is known here. Goes through the tables. */
int elf_file_binding(const struct elf_file *file, u64 slot, struct elf_binding *ret_binding);

/* Where the file has a symbol that others may use (DT_GNU_HASH), of whatever type but undefined. Quick, however many there are.
 * -ENOENT: it has none of this name. */
int elf_file_dynamic_symbol(const struct elf_file *file, const char *name, u64 *ret_address);
/* The same of functions and data in .symtab, whoever may use them; of those that have the same name the first one. Fills in those that
 * are 0. Goes through the symbols, once. */
void elf_file_static_symbols(const struct elf_file *file, const char *const names[], size_t count, u64 addresses[]);
/* Is there a section of this name? */
bool elf_file_has_section(const struct elf_file *file, const char *name);

/* Go programs move their stacks: no return probes ever (.gopclntab / .go.buildinfo present). */
bool elf_file_is_go(const struct elf_file *file);
bool elf_file_has_device_code(const struct elf_file *file); /* code for GPUs, as nvcc puts it in */
bool elf_file_is_static(const struct elf_file *file); /* no PT_INTERP and no DT_NEEDED */
/* Is its code written to when it is loaded (DT_TEXTREL)? */
bool elf_file_has_text_relocations(const struct elf_file *file);
/* Does this stand as a string of its own, or as the end of one, among its constants (.rodata) or the names that it is linked by? So do names
 * that it looks up itself (dlsym). Of 256 MB each. Reads all of it. */
bool elf_file_has_word(const struct elf_file *file, const char *word);
/* The name that others are linked with (DT_SONAME: libcuda.so.1), NULL when it has none. The caller frees. */
char *elf_file_soname(const struct elf_file *file);

/* ---- functions -------------------------------------------------------------------------------------- */

/* Names are left mangled: demangling all of a large library takes seconds, base/demangle.h does it for
 * those that are wanted. */
struct elf_symbol {
	const char *name; /* as it stands in the file, without @VERSION */
	u64 address;	  /* virtual address in the file */
	u64 size_bytes;	  /* 0: unknown */
	bool ifunc;	  /* a resolver: cannot be probed under this name */
	bool global;	  /* visible outside its source file (weak ones too) */
};

struct elf_symbols {
	struct elf_symbol *items; /* sorted by address, then name; aliases are all there */
	size_t count;
	void *storage;
	bool from_debug_file, from_gnu_debugdata, from_go_table, stripped; /* where they came from; stripped: .dynsym only */
};

/* Function symbols of .symtab and .dynsym; where there is no .symtab, also those of the separate debug file
 * (by build id, then by debug link with its CRC checked, looked up under root_path: "/proc/PID/root" for a
 * target in another mount namespace, "" for ours; then also under "" when root_path is another), or of
 * .gnu_debugdata (xz), or those that Go's runtime names itself (.gopclntab). Undefined, zero-address and non-executable ones are left out. A debug file that is
 * missing or damaged is no error, the other sources are used. Reads, may block on the disk. */
int elf_symbols_load(struct elf_file *file, const char *root_path, struct elf_symbols *ret_symbols,
		     struct err *err);
void elf_symbols_free(struct elf_symbols *symbols);
/* Where functions are, by the file's own symbols: without names, and so a small part of the work. */
struct elf_extent {
	u64 address;
	u64 size_bytes; /* 0: unknown */
};

/* Sorted; of those that begin together the longest. The caller frees. Returns how many, or -ENOMEM. */
ssize_t elf_file_functions(const struct elf_file *file, struct elf_extent **ret_extents);

/* What a separate debug file of this one could be found by. */
enum elf_debug_file_chance {
	ELF_DEBUG_FILE_NONE,	   /* nothing: neither build id nor .gnu_debuglink */
	ELF_DEBUG_FILE_NONE_OF_GO, /* only a build id of Go's linker, which writes no such files */
	ELF_DEBUG_FILE_BY_NAME,	   /* its build id or .gnu_debuglink */
};
enum elf_debug_file_chance elf_debug_file_chance(const struct elf_file *file);

/* A file that is said to be its separate debug file: found before all others, where its build id is the same. fd stays the caller's
 * and open as long as file is. */
void elf_file_set_debug_file(struct elf_file *file, int fd);

/* How many of them begin at or below the address. */
size_t elf_symbols_up_to(const struct elf_symbols *symbols, u64 address);

/* The file with the debug information (DWARF) of this one: itself, or the separate debug file that elf_symbols_load() would
 * find. ret_fd: the caller closes; ret_bytes: how much of it there is. -ENOENT: none. */
int elf_file_debug_info_open(const struct elf_file *file, const char *root_path, int *ret_fd, u64 *ret_bytes);

/* ---- exceptions ------------------------------------------------------------------------------------- */

/* True when a CIE of .eh_frame names a personality routine other than C's own __gcc_personality_v0, i.e.
 * C++, Rust, ... frames that throw or catch. Without readable .eh_frame: true (in doubt it can). */
bool elf_file_has_personality(struct elf_file *file);

/* Does it use one of these functions of another file, or (static programs) have it linked in? */
bool elf_file_uses(struct elf_file *file, const char *const *names, size_t count);

#endif
