/* SPDX-License-Identifier: MIT */
/* Library: a metallib (or bare AIR bitcode) to list, print, verify; Kernel: one of its functions
 * decoded for the virtual GPU. Kernel.launch binds buffers by index and is what tools use; Triton's
 * launches go through launcher.c. */
#include "core.h"
#include <stdlib.h>

typedef struct library {
    PyObject_HEAD
    tm_library *lib;
    PyObject *module;
} library;

static void library_dealloc(PyObject *self) {
    PyTypeObject *type = Py_TYPE(self);
    tm_library_free(((library *)self)->lib);
    Py_XDECREF(((library *)self)->module);
    PyObject_Free(self);
    Py_DECREF(type);
}

tm_library *library_of(PyObject *self) { return ((library *)self)->lib; }

PyObject *core_load(PyObject *module, PyObject *args, PyObject *kwargs) {
    static char *names[] = {"data", NULL};
    const char *data;
    Py_ssize_t len;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "y#", names, &data, &len))
        return NULL;
    tm_context *ctx = tm_context_new();
    if (!ctx)
        return raise_no_memory();
    tm_library *lib = tm_library_load(ctx, data, (size_t)len);
    library *result = NULL;
    if (!lib)
        raise_diags(ctx, "library");
    else
        result = PyObject_New(library, core_get_state(module)->library);
    if (result) {
        Py_INCREF(module);
        result->module = module;
        result->lib = lib;
    } else {
        tm_library_free(lib);
    }
    tm_context_free(ctx);
    return (PyObject *)result;
}

static PyObject *library_names(PyObject *self, PyObject *unused) {
    const tm_library *lib = ((library *)self)->lib;
    PyObject *list = PyList_New(0);
    for (uint32_t i = 0; list && i < tm_library_count(lib); i++) {
        PyObject *name = PyUnicode_FromString(tm_library_name(lib, i));
        if (!name || PyList_Append(list, name) != 0)
            Py_CLEAR(list);
        Py_XDECREF(name);
    }
    return list;
}

/* A function given by name or number; -1 with an exception. */
static long find_function(tm_library *lib, PyObject *which) {
    if (PyUnicode_Check(which)) {
        const char *name = PyUnicode_AsUTF8AndSize(which, NULL);
        int found = name ? tm_library_find(lib, name) : -1;
        if (name && found < 0)
            PyErr_Format(PyExc_KeyError, "the library has no function '%s'", name);
        return found;
    }
    long index = PyLong_AsLong(which);
    if (!PyErr_Occurred() && (index < 0 || (unsigned long)index >= tm_library_count(lib))) {
        PyErr_SetString(PyExc_IndexError, "function number out of range");
        return -1;
    }
    return PyErr_Occurred() ? -1 : index;
}

static PyObject *argument_dict(const tm_arg_info *a) {
    return Py_BuildValue("{szszszszsIsIsI}", "kind", a->kind, "name", a->name, "type", a->type_name,
                         "access", a->access, "location", (unsigned)a->location, "space",
                         (unsigned)a->space, "type_size", (unsigned)a->type_size);
}

static PyObject *build_info(tm_context *ctx, tm_library *lib, uint32_t index) {
    tm_function_info f;
    if (tm_function_get(ctx, lib, index, &f) != 0)
        return raise_diags(ctx, "library");
    PyObject *list = PyList_New(0);
    for (uint32_t i = 0; list && i < f.n_args; i++) {
        tm_arg_info a;
        PyObject *row = tm_function_arg(ctx, lib, index, i, &a) == 0 ? argument_dict(&a)
                                                                    : raise_diags(ctx, "library");
        if (!row || PyList_Append(list, row) != 0)
            Py_CLEAR(list);
        Py_XDECREF(row);
    }
    if (!list)
        return NULL;
    return Py_BuildValue("{sss(II)s(II)sIsKsN}", "name", f.name, "air", (unsigned)f.air_major,
                         (unsigned)f.air_minor, "language", (unsigned)f.lang_major,
                         (unsigned)f.lang_minor, "constants", (unsigned)f.n_constants,
                         "bitcode_bytes", (unsigned long long)f.bitcode_len, "args", list);
}

static PyObject *build_text(tm_context *ctx, tm_library *lib, uint32_t index) {
    const char *str = tm_function_text(ctx, lib, index);
    return str ? PyUnicode_FromString(str) : raise_diags(ctx, "library");
}

static PyObject *build_verdict(tm_context *ctx, tm_library *lib, uint32_t index) {
    if (tm_function_verify(ctx, lib, index) != 0)
        return raise_diags(ctx, "library");
    Py_INCREF(Py_None);
    return Py_None;
}

static PyObject *with_function(PyObject *self, PyObject *which,
                               PyObject *(*build)(tm_context *, tm_library *, uint32_t)) {
    tm_library *lib = ((library *)self)->lib;
    long index = find_function(lib, which);
    if (index < 0)
        return NULL;
    tm_context *ctx = tm_context_new();
    if (!ctx)
        return raise_no_memory();
    PyObject *result = build(ctx, lib, (uint32_t)index);
    tm_context_free(ctx);
    return result;
}

static PyObject *library_info(PyObject *self, PyObject *which) {
    return with_function(self, which, build_info);
}
static PyObject *library_text(PyObject *self, PyObject *which) {
    return with_function(self, which, build_text);
}
static PyObject *library_verify(PyObject *self, PyObject *which) {
    return with_function(self, which, build_verdict);
}

/* Which buffers the kernel stores to, from its metadata. */
static uint64_t written_buffers(tm_context *ctx, tm_library *lib, uint32_t index) {
    uint64_t written = 0;
    tm_function_info f;
    if (tm_function_get(ctx, lib, index, &f) != 0)
        return 0;
    for (uint32_t i = 0; i < f.n_args; i++) {
        tm_arg_info a;
        if (tm_function_arg(ctx, lib, index, i, &a) == 0 && a.access && a.location < 64 &&
            strcmp(a.access, "read") != 0)
            written |= 1ull << a.location;
    }
    return written;
}

/* {name or index: value} to function constants; the names stay owned by the dict. */
static int read_constants(PyObject *dict, tm_constant_value **out, uint32_t *n) {
    Py_ssize_t at = 0;
    PyObject *key, *value;
    *n = 0;
    *out = calloc((size_t)PyDict_Size(dict) + 1, sizeof **out);
    if (!*out) {
        PyErr_NoMemory();
        return -1;
    }
    while (PyDict_Next(dict, &at, &key, &value)) {
        tm_constant_value *c = &(*out)[(*n)++];
        if (PyUnicode_Check(key))
            c->name = PyUnicode_AsUTF8AndSize(key, NULL);
        else
            c->index = (uint32_t)PyLong_AsUnsignedLong(key);
        c->bits = PyFloat_Check(value) ? 0 : PyLong_AsUnsignedLongLongMask(value);
        if (PyFloat_Check(value)) {
            float single = (float)PyFloat_AsDouble(value);
            memcpy(&c->bits, &single, 4);
        }
        if (PyErr_Occurred())
            return -1;
    }
    return 0;
}

/* The function `index` as one decoding of it; NULL with an exception. */
static kernel_object *make_kernel(PyObject *self, tm_context *ctx, uint32_t index, PyObject *dict, const char *checks,
                                  const char *numerics, bool count) {
    library *l = (library *)self;
    core_state *st = core_get_state(l->module);
    kernel_object *k = PyObject_New(kernel_object, st->kernel);
    if (!k)
        return NULL;
    memset((char *)k + sizeof(PyObject), 0, sizeof *k - sizeof(PyObject));
    Py_INCREF(self);
    k->library = self;
    k->index = index;
    k->names = dict ? PyDict_Copy(dict) : NULL;
    bool ok = !dict || (k->names && read_constants(k->names, &k->constants, &k->n_constants) == 0);
    if (ok && (k->own = kernel_decoding(ctx, k, checks, numerics, count))) {
        k->kernel = k->own->kernel;
        k->written = written_buffers(ctx, l->lib, index);
        return k;
    }
    if (!PyErr_Occurred())
        raise_diags(ctx, "library");
    Py_DECREF((PyObject *)k);
    return NULL;
}

static PyObject *library_kernel(PyObject *self, PyObject *args, PyObject *kwargs) {
    static char *names[] = {"which", "constants", "checks", "counting", "numerics", NULL};
    PyObject *which, *dict = NULL;
    const char *checks = NULL, *numerics = NULL;
    int count = 0;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "O|O!zpz", names, &which, &PyDict_Type, &dict, &checks, &count,
                                     &numerics))
        return NULL;
    long index = find_function(((library *)self)->lib, which);
    if (index < 0)
        return NULL;
    tm_context *ctx = tm_context_new();
    if (!ctx)
        return raise_no_memory();
    kernel_object *k = make_kernel(self, ctx, (uint32_t)index, dict, checks, numerics, count);
    tm_context_free(ctx);
    return (PyObject *)k;
}

static PyMethodDef library_methods[] = {
    {"names", library_names, METH_NOARGS, "The names of all functions."},
    {"info", library_info, METH_O, "What the metadata says of one function, by name or number."},
    {"text", library_text, METH_O, "One function's module as LLVM text."},
    {"verify", library_verify, METH_O, "Checks structure and emission rules; raises when broken."},
    {"kernel", (PyCFunction)(void (*)(void))library_kernel, METH_VARARGS | METH_KEYWORDS,
     "Decodes one function for the virtual GPU."},
    {0},
};
static PyType_Slot library_slots[] = {
    {Py_tp_dealloc, (void *)library_dealloc},
    {Py_tp_methods, library_methods},
    {0, NULL},
};
PyType_Spec library_spec = {
    .name = "triton_metal._core.Library",
    .basicsize = sizeof(library),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION,
    .slots = library_slots,
};
