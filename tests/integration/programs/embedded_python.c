/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Python out of libpython instead of the interpreter's own executable. */
int Py_BytesMain(int argc, char **argv);

int main(int argc, char **argv)
{
	return Py_BytesMain(argc, argv);
}
