/* SPDX-License-Identifier: MIT */
/* Checks chosen while a process runs: kernels that are loaded are decoded again, once per list of checks,
 * when they are next launched. Also the order of launches, and buffers marked as written by nobody. */
#include "core.h"
#include <stdlib.h>

static tm_kernel *variant(core_state *st, tm_context *ctx, kernel_object *k) {
    const char *list = PyUnicode_AsUTF8AndSize(st->checks, NULL);
    if (!list)
        return NULL;
    for (kernel_variant *v = k->variants; v; v = v->next)
        if (strcmp(v->checks, list) == 0)
            return v->kernel;
    kernel_variant *v = malloc(sizeof *v + strlen(list) + 1);
    if (!v) {
        PyErr_NoMemory();
        return NULL;
    }
    strcpy(v->checks, list);
    v->kernel = tm_kernel_new(ctx, library_of(k->library), k->index, NULL, 0, list);
    if (!v->kernel || (k->has_lines && tm_kernel_set_lines(ctx, v->kernel, k->lines, k->lines_len) != 0)) {
        tm_kernel_free(v->kernel);
        free(v);
        return NULL;
    }
    v->next = k->variants;
    k->variants = v;
    return v->kernel;
}
int kernel_prepare(core_state *st, tm_context *ctx, kernel_object *k, const char *lines, size_t len) {
    if (lines && !k->has_lines) {
        char *kept = malloc(len + 1);
        if (!kept)
            return PyErr_NoMemory(), -1;
        memcpy(kept, lines, len);
        k->lines = kept;
        k->lines_len = len;
        k->has_lines = true;
        TRY(tm_kernel_set_lines(ctx, k->own, lines, len));
        for (kernel_variant *v = k->variants; v; v = v->next)
            TRY(tm_kernel_set_lines(ctx, v->kernel, lines, len));
    }
    if (k->checks_version == st->checks_version)
        return 0;
    tm_kernel *now = st->checks && !k->fixed ? variant(st, ctx, k) : k->own;
    if (!now)
        return -1;
    k->kernel = now;
    k->checks_version = st->checks_version;
    return 0;
}
PyObject *core_set_checks(PyObject *module, PyObject *checks) {
    core_state *st = core_get_state(module);
    if (checks != Py_None && !PyUnicode_Check(checks)) {
        PyErr_SetString(PyExc_TypeError, "checks are a string, or None");
        return NULL;
    }
    PyObject *old = st->checks ? st->checks : Py_None;
    if (!st->checks)
        Py_INCREF(old);
    st->checks = checks == Py_None ? NULL : checks;
    Py_XINCREF(st->checks);
    st->checks_version++;
    return old;
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
