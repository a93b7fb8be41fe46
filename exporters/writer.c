#include "exporters/writer.h"

#include <errno.h>
#include <sys/stat.h>

#include "base/cleanup.h"

int writer_create(struct writer *writer, const char *path, bool gzip, struct err *err)
{
	*writer = (struct writer){.path = path};
	return output_create(path, gzip ? OUTPUT_GZIP : OUTPUT_PLAIN, &writer->output, err);
}

int writer_flush_now(struct writer *writer, struct err *err)
{
	int result;

	if (writer->text.failed)
		return err_set(err, -ENOMEM, "can't write %s: out of memory", writer->path);
	if (!writer->text.length)
		return 0;
	result = output_write(writer->output, writer->text.data, writer->text.length);
	if (result < 0)
		return err_errno(err, result, "can't write %s", writer->path);
	text_clear(&writer->text);
	return 0;
}

/* Known only now: a compressed file has no size before its end. 0 for what is no plain file. */
static u64 writer_file_size_bytes(const char *path)
{
	struct stat status;

	return stat(path, &status) == 0 && S_ISREG(status.st_mode) ? (u64)status.st_size : 0;
}

int writer_finish(struct writer *writer, bool commit, u64 *ret_size_bytes, struct err *err)
{
	int result = 0;

	if (commit)
		result = writer_flush_now(writer, err);
	text_free(&writer->text);
	if (!commit || result < 0) {
		writer->output = output_discard(writer->output);
		return result;
	}
	result = output_commit(take_pointer(&writer->output), err);
	if (result < 0)
		return result;
	if (ret_size_bytes)
		*ret_size_bytes = writer_file_size_bytes(writer->path);
	return 0;
}
