/* SPDX-License-Identifier: MIT */
/* Triton asks native_specialize_impl(backend, arg, is_const, specialize, align) about every kernel
 * argument, and that function knows torch tensors and whatever has data_ptr(). The one made here
 * stands in front of it: NumPy arrays and other array types reach it as proxies, alone and inside
 * tuples, NumPy scalars as Python numbers, and everything else unchanged. */
#include "core.h"

enum { MAX_NESTING = 16 };

static PyObject *substitute(core_state *st, PyObject *arg, int depth);

static PyObject *substitute_items(core_state *st, PyObject *tuple, int depth) {
    Py_ssize_t n = PyTuple_Size(tuple);
    PyObject *copy = PyTuple_New(n);
    bool changed = false;
    for (Py_ssize_t i = 0; copy && i < n; i++) {
        PyObject *old = PyTuple_GetItem(tuple, i), *item = substitute(st, old, depth + 1);
        changed |= item != old;
        if (!item || PyTuple_SetItem(copy, i, item) != 0)
            Py_CLEAR(copy);
    }
    if (!copy || changed)
        return copy;
    Py_DECREF(copy);
    Py_INCREF(tuple);
    return tuple;
}

/* The argument with arrays replaced: a new reference, or NULL with an exception. */
static PyObject *substitute(core_state *st, PyObject *arg, int depth) {
    if (PyTuple_CheckExact(arg) && depth < MAX_NESTING)
        return substitute_items(st, arg, depth);
    if (array_needs_proxy(st, arg))
        return array_proxy_new(st, arg);
    Py_INCREF(arg);
    return arg;
}

static bool is_plain(core_state *st, PyObject *arg) {
    return PyLong_CheckExact(arg) || (PyTypeObject *)Py_TYPE(arg) == st->torch_tensor ||
           PyFloat_CheckExact(arg) || PyBool_Check(arg) || arg == Py_None;
}

/* A NumPy scalar, as the Python number it is; not specialised to its value, since the kernel would
 * then be given the NumPy object as a constant. */
static PyObject *specialize_scalar(PyObject *native, PyObject *const *args) {
    PyObject *number = PyObject_CallMethod(args[1], "item", NULL);
    if (!number)
        return NULL;
    PyObject *result =
        PyObject_CallFunctionObjArgs(native, args[0], number, args[2], Py_False, args[4], NULL);
    Py_DECREF(number);
    return result;
}

/* self is the tuple (module, native function). */
static PyObject *specialize(PyObject *self, PyObject *const *args, Py_ssize_t n) {
    if (n != 5) {
        PyErr_SetString(PyExc_TypeError, "specialize takes 5 arguments");
        return NULL;
    }
    core_state *st = core_get_state(PyTuple_GetItem(self, 0));
    PyObject *native = PyTuple_GetItem(self, 1);
    if (is_plain(st, args[1]))
        return PyObject_CallFunctionObjArgs(native, args[0], args[1], args[2], args[3], args[4], NULL);
    if (array_is_scalar(st, args[1]))
        return specialize_scalar(native, args);
    PyObject *arg = substitute(st, args[1], 0);
    if (!arg)
        return NULL;
    PyObject *result =
        PyObject_CallFunctionObjArgs(native, args[0], arg, args[2], args[3], args[4], NULL);
    Py_DECREF(arg);
    return result;
}

static PyMethodDef specialize_def = {
    "native_specialize_impl", (PyCFunction)(void (*)(void))specialize, METH_FASTCALL,
    "Triton's specialisation of one kernel argument, with NumPy arrays and their like."};

PyObject *core_make_specializer(PyObject *module, PyObject *native) {
    PyObject *self = PyTuple_Pack(2, module, native);
    if (!self)
        return NULL;
    PyObject *function = PyCFunction_NewEx(&specialize_def, self, NULL);
    Py_DECREF(self);
    return function;
}
