/* What SQLite writes a database through: an open file, which it can neither open by name nor find again. */
#ifndef GPUPROBE_EXPORTERS_DATABASE_FILE_H
#define GPUPROBE_EXPORTERS_DATABASE_FILE_H

#include <sqlite3.h>

/* Zero-initialise but for fd. */
struct database_file {
	int fd; /* read and write, empty; the caller's */
	int error; /* -errno of the first read or write that failed; 0: none */
	sqlite3_vfs vfs;
	char name[40]; /* of vfs */
};

/* Opens the database; file must outlive it. SQLITE_OK, or an error of SQLite. ret_database is set in any case where there
 * was memory for it: sqlite3_close() it, then database_file_close(). */
int database_file_open(struct database_file *file, sqlite3 **ret_database);
void database_file_close(struct database_file *file);

#endif
