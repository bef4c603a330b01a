/* SPDX-License-Identifier: MIT */
/* From C diagnostics to Python exceptions. The classes live in triton_metal.errors, which gets the
 * diagnostics as tuples and their text as the library formats it; the text has caret lines when
 * the Python source that the first located diagnostic names can be read. */
#include "core.h"

PyObject *raise_no_memory(void) {
    PyErr_NoMemory();
    return NULL;
}

static PyObject *diag_tuple(const tm_diag *d) {
    return Py_BuildValue("(iizIIszz)", d->code, d->level, d->file, (unsigned)d->line,
                         (unsigned)d->column, d->message, d->note, d->help);
}

static PyObject *collect(tm_context *ctx, const char **file) {
    PyObject *list = PyList_New(0);
    tm_diag d;
    for (uint32_t i = 0; list && tm_diag_get(ctx, i, &d) == 0; i++) {
        if (d.file && !*file)
            *file = d.file;
        PyObject *t = diag_tuple(&d);
        if (!t || PyList_Append(list, t) != 0)
            Py_CLEAR(list);
        Py_XDECREF(t);
    }
    return list;
}

/* The text of a source file for caret lines: new reference, NULL (no exception) when unreadable. */
static PyObject *source_bytes(PyObject *errors, const char *file) {
    PyObject *source = file ? PyObject_CallMethod(errors, "read_source", "s", file) : NULL;
    if (source && !PyBytes_Check(source))
        Py_CLEAR(source);
    PyErr_Clear();
    return source;
}

PyObject *raise_diags(tm_context *ctx, const char *kind) {
    if (PyErr_Occurred())
        return NULL;
    PyObject *errors = PyImport_ImportModule("triton_metal.errors");
    if (!errors)
        return NULL;
    const char *file = NULL;
    PyObject *list = collect(ctx, &file), *exc = NULL;
    if (list) {
        PyObject *source = source_bytes(errors, file);
        const char *str = tm_diag_text(ctx, source ? PyBytes_AsString(source) : NULL);
        exc = PyObject_CallMethod(errors, "make", "sOs", kind, list, str);
        Py_XDECREF(source);
    }
    if (exc)
        PyErr_SetObject((PyObject *)Py_TYPE(exc), exc);
    Py_XDECREF(exc);
    Py_XDECREF(list);
    Py_DECREF(errors);
    return NULL;
}
