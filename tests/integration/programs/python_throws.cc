/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A module of Python that throws C++ exceptions as pybind11 does: translated at each border between the languages; and
 * as code does that forgets to: through the interpreter's own frames, caught in the outer C++.
 */
#include <Python.h>

#include <stdexcept>

#include "protocol.h"

static volatile int sink;

extern "C" PROBED void module_inner(long value)
{
	sink = sink + 1;
	if (value % 2)
		throw std::out_of_range("odd");
}

/* Translates. */
static PyObject *translated(PyObject *, PyObject *argument)
{
	try {
		module_inner(PyLong_AsLong(argument));
	} catch (const std::out_of_range &error) {
		PyErr_SetString(PyExc_IndexError, error.what());
		return nullptr;
	}
	Py_RETURN_NONE;
}

/* Does not. */
static PyObject *raw(PyObject *, PyObject *argument)
{
	module_inner(PyLong_AsLong(argument));
	Py_RETURN_NONE;
}

/* What an interpreter keeps of the frames that it is in, by its version; of the later ones the frame is of the thread. */
struct frames {
	explicit frames(PyThreadState *state)
		: top(state->datastack_top)
	{
#if PY_VERSION_HEX < 0x030d0000
		frame = state->cframe;
		current = frame->current_frame;
#else
		current = state->current_frame;
#endif
#if PY_VERSION_HEX < 0x030c0000
		left = state->recursion_remaining;
#else
		left = state->py_recursion_remaining;
		left_in_c = state->c_recursion_remaining;
#endif
	}

	void put_back(PyThreadState *state) const
	{
		state->datastack_top = top;
#if PY_VERSION_HEX < 0x030d0000
		state->cframe = frame;
		frame->current_frame = current;
#else
		state->current_frame = current;
#endif
#if PY_VERSION_HEX < 0x030c0000
		state->recursion_remaining = left;
#else
		state->py_recursion_remaining = left;
		state->c_recursion_remaining = left_in_c;
#endif
	}

#if PY_VERSION_HEX < 0x030d0000
	_PyCFrame *frame;
#endif
#if PY_VERSION_HEX >= 0x030c0000
	int left_in_c;
#endif
	_PyInterpreterFrame *current;
	PyObject **top;
	int left;
};

/* catch_raw(function, value): was a C++ exception caught? What the interpreter would have put right in the frames
 * that are skipped is put right here. */
static PyObject *catch_raw(PyObject *, PyObject *arguments)
{
	PyThreadState *state = PyThreadState_Get();
	frames before(state);
	bool caught = false;

	try {
		Py_XDECREF(PyObject_CallOneArg(PyTuple_GET_ITEM(arguments, 0), PyTuple_GET_ITEM(arguments, 1)));
	} catch (const std::out_of_range &) {
		before.put_back(state);
		caught = true;
	}
	return PyBool_FromLong(caught);
}

/* call_back(function, value): C++ that calls Python and makes an exception of its error, caught at once. */
static PyObject *call_back(PyObject *, PyObject *arguments)
{
	try {
		PyObject *result = PyObject_CallOneArg(PyTuple_GET_ITEM(arguments, 0), PyTuple_GET_ITEM(arguments, 1));

		if (!result)
			throw std::runtime_error("error already set");
		Py_DECREF(result);
	} catch (const std::runtime_error &) {
		PyErr_Clear();
		Py_RETURN_TRUE;
	}
	Py_RETURN_FALSE;
}

static PyMethodDef methods[] = {{"translated", translated, METH_O, nullptr},
				{"raw", raw, METH_O, nullptr},
				{"catch_raw", catch_raw, METH_VARARGS, nullptr},
				{"call_back", call_back, METH_VARARGS, nullptr},
				{nullptr, nullptr, 0, nullptr}};

static PyModuleDef definition = {PyModuleDef_HEAD_INIT, "python_throws", nullptr, -1, methods,
				 nullptr, nullptr, nullptr, nullptr};

PyMODINIT_FUNC PyInit_python_throws()
{
	return PyModule_Create(&definition);
}
