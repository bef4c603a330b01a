/* SPDX-License-Identifier: MIT */
/* How a process wants its kernels run, chosen while it runs: checks and numerics, for which kernels that are
 * loaded are decoded again when they are next launched (decoding.c); the order of launches; buffers marked as
 * written by nobody. */
#include "core.h"
#include <stdlib.h>

static PyObject *change(core_state *st, PyObject **setting, PyObject *now, const char *wrong) {
    if (now != Py_None && !PyUnicode_Check(now)) {
        PyErr_SetString(PyExc_TypeError, wrong);
        return NULL;
    }
    PyObject *old = *setting ? *setting : Py_None;
    if (!*setting)
        Py_INCREF(old);
    *setting = now == Py_None ? NULL : now;
    Py_XINCREF(*setting);
    st->setting++;
    return old;
}
PyObject *core_set_checks(PyObject *module, PyObject *checks) {
    core_state *st = core_get_state(module);
    return change(st, &st->checks, checks, "checks are a string, or None");
}
PyObject *core_set_numerics(PyObject *module, PyObject *numerics) {
    core_state *st = core_get_state(module);
    const char *list = PyUnicode_Check(numerics) ? PyUnicode_AsUTF8AndSize(numerics, NULL) : NULL;
    tm_context *ctx = PyErr_Occurred() ? NULL : tm_context_new();
    if (!ctx)
        return PyErr_Occurred() ? NULL : raise_no_memory();
    PyObject *old = tm_numerics_check(ctx, list) == 0
                        ? change(st, &st->numerics, numerics, "numerics are a string, or None")
                        : raise_diags(ctx, "launch");
    tm_context_free(ctx);
    return old;
}
/* [(option, choice, is default, meaning, what the option is about, evidence)] */
PyObject *core_numeric_choices(PyObject *module, PyObject *unused) {
    PyObject *list = PyList_New(0);
    tm_numeric n;
    for (uint32_t i = 0; list && tm_numeric_get(i, &n) == 0; i++) {
        PyObject *row = Py_BuildValue("(ssNsss)", n.option, n.choice, PyBool_FromLong(n.is_default), n.meaning, n.what,
                                      n.evidence);
        if (!row || PyList_Append(list, row) != 0)
            Py_CLEAR(list);
        Py_XDECREF(row);
    }
    return list;
}
PyObject *core_set_order(PyObject *module, PyObject *args) {
    core_state *st = core_get_state(module);
    unsigned order;
    unsigned long long seed;
    if (!PyArg_ParseTuple(args, "IK", &order, &seed))
        return NULL;
    PyObject *old = Py_BuildValue("(IK)", (unsigned)st->order, (unsigned long long)st->seed);
    st->order = order;
    st->seed = seed;
    return old;
}
/* A buffer stays marked until it is unmarked (size None). */
PyObject *core_mark_empty(PyObject *module, PyObject *args) {
    core_state *st = core_get_state(module);
    PyObject *address, *size;
    if (!PyArg_ParseTuple(args, "OO", &address, &size) || (!st->empty && !(st->empty = PyDict_New())))
        return NULL;
    if (size == Py_None) {
        if (PyDict_DelItem(st->empty, address) != 0)
            PyErr_Clear();
        if (PyDict_Size(st->empty) == 0) {
            Py_DECREF(st->empty);
            st->empty = NULL;
        }
    } else {
        Py_ssize_t n = PyLong_AsSsize_t(size);
        PyObject *map = PyErr_Occurred() ? NULL : PyByteArray_FromStringAndSize(NULL, n);
        if (!map)
            return NULL;
        memset(PyByteArray_AsString(map), 0, (size_t)n);
        int status = PyDict_SetItem(st->empty, address, map);
        Py_DECREF(map);
        if (status != 0)
            return NULL;
    }
    Py_INCREF(Py_None);
    return Py_None;
}
uint8_t *empty_map(core_state *st, const char *data, size_t size) {
    Py_ssize_t at = 0;
    PyObject *key, *map;
    while (PyDict_Next(st->empty, &at, &key, &map)) {
        uintptr_t from = (uintptr_t)PyLong_AsUnsignedLongLong(key);
        size_t n = (size_t)PyByteArray_Size(map);
        if ((uintptr_t)data >= from && (uintptr_t)data + size <= from + n)
            return (uint8_t *)PyByteArray_AsString(map) + ((uintptr_t)data - from);
    }
    PyErr_Clear();
    return NULL;
}
