/* SPDX-License-Identifier: MIT */
/* Kernel: a function decoded for the virtual GPU. launch() takes what each buffer index is bound to:
 * an array (a device buffer, not copied), bytes (a constant block), or None (left unbound). */
#include "core.h"
#include <stdlib.h>

static void kernel_dealloc(PyObject *self) {
    PyTypeObject *type = Py_TYPE(self);
    kernel_release((kernel_object *)self);
    PyObject_Free(self);
    Py_DECREF(type);
}

static PyObject *kernel_listing(PyObject *self, PyObject *unused) {
    tm_context *ctx = tm_context_new();
    if (!ctx)
        return raise_no_memory();
    const char *str = NULL;
    tm_kernel_listing(ctx, ((kernel_object *)self)->kernel, &str);
    PyObject *result = PyUnicode_FromString(str ? str : "");
    tm_context_free(ctx);
    return result;
}

typedef struct binding {
    core_state *st;
    tm_context *ctx;
    tm_arg *args;
    uint32_t n;
    uint64_t written;
    PyObject *keep;
} binding;

static int bind_buffer(binding *b, uint32_t index, PyObject *value) {
    tm_arg *a = &b->args[b->n++];
    a->index = index;
    if (value == Py_None) {
        a->kind = TM_ARG_UNBOUND;
        return 0;
    }
    if (PyBytes_Check(value)) {
        char *data;
        Py_ssize_t len;
        a->kind = TM_ARG_BYTES;
        if (PyBytes_AsStringAndSize(value, &data, &len) != 0)
            return -1;
        a->data = data;
        a->size = (size_t)len;
        return 0;
    }
    char name[32];
    snprintf(name, sizeof name, "%u", (unsigned)index);
    array_memory m;
    if (array_memory_get(b->st, b->ctx, name, value, &m) != 0)
        return -1;
    if (m.keep) {
        int status = PyList_Append(b->keep, m.keep);
        Py_DECREF(m.keep);
        if (status != 0)
            return -1;
    }
    if (m.flags & ARRAY_READ_ONLY && index < 64 && b->written >> index & 1)
        return diag_at(b->ctx->ctx, NULL, TM5026, name);
    *a = (tm_arg){.kind = TM_ARG_BUFFER, .index = index, .data = m.data, .size = m.size, .before = m.before};
    return 0;
}

static int bind_all(binding *b, PyObject *buffers, PyObject *threadgroup) {
    Py_ssize_t at = 0;
    PyObject *key, *value;
    while (PyDict_Next(buffers, &at, &key, &value)) {
        unsigned long index = PyLong_AsUnsignedLong(key);
        if (PyErr_Occurred() || bind_buffer(b, (uint32_t)index, value) != 0)
            return -1;
    }
    at = 0;
    while (threadgroup && PyDict_Next(threadgroup, &at, &key, &value)) {
        b->args[b->n++] = (tm_arg){.kind = TM_ARG_THREADGROUP,
                                   .index = (uint32_t)PyLong_AsUnsignedLong(key),
                                   .size = PyLong_AsSize_t(value)};
        if (PyErr_Occurred())
            return -1;
    }
    return 0;
}


/* launch(grid, group, buffers, threadgroup={}, threads=0, max_steps=0, grid_threads=(0, 0, 0)) */
static PyObject *launch_with(core_state *st, kernel_object *k, PyObject *args) {
    tm_launch_params p = {0};
    PyObject *buffers, *threadgroup = NULL;
    unsigned threads = 0, *g = p.grid, *t = p.group, *e = p.grid_threads;
    unsigned long long max_steps = 0;
    if (!PyArg_ParseTuple(args, "(III)(III)O!|O!IK(III)", &g[0], &g[1], &g[2], &t[0], &t[1], &t[2],
                          &PyDict_Type, &buffers, &PyDict_Type, &threadgroup, &threads, &max_steps,
                          &e[0], &e[1], &e[2]))
        return NULL;
    size_t n = (size_t)PyDict_Size(buffers) + (threadgroup ? (size_t)PyDict_Size(threadgroup) : 0);
    binding b = {.st = st,
                 .ctx = tm_context_new(),
                 .args = calloc(n + 1, sizeof *b.args),
                 .written = k->written,
                 .keep = PyList_New(0)};
    int status = -1;
    if (!b.ctx || !b.args || !b.keep)
        PyErr_NoMemory();
    else
        status = bind_all(&b, buffers, threadgroup);
    counting count = {0};
    if (status == 0) {
        status = kernel_prepare(st, b.ctx, k, NULL, 0);
        for (uint32_t i = 0; st->empty && i < b.n; i++)
            if (b.args[i].kind == TM_ARG_BUFFER)
                b.args[i].written = empty_map(st, b.args[i].data, b.args[i].size);
    }
    if (status == 0)
        status = counting_begin(st, k, &count);
    if (status == 0) {
        p.args = b.args;
        p.n_args = b.n;
        p.order = st->order;
        p.seed = st->seed;
        p.threads = threads;
        p.max_steps = max_steps;
        p.counters = count.into;
        Py_BEGIN_ALLOW_THREADS
        status = tm_launch(b.ctx, count.kernel, &p);
        Py_END_ALLOW_THREADS
        status = counting_end(st, &count, status);
    }
    if (status != 0 && b.ctx)
        raise_diags(b.ctx, "launch");
    tm_context_free(b.ctx);
    free(b.args);
    Py_XDECREF(b.keep);
    if (status != 0)
        return NULL;
    Py_INCREF(Py_None);
    return Py_None;
}

static PyObject *kernel_launch(PyObject *self, PyTypeObject *type, PyObject *const *argv, Py_ssize_t n,
                               PyObject *kwnames) {
    if (kwnames && PyTuple_Size(kwnames) != 0) {
        PyErr_SetString(PyExc_TypeError, "launch takes positional arguments only");
        return NULL;
    }
    PyObject *args = PyTuple_New(n);
    for (Py_ssize_t i = 0; args && i < n; i++) {
        Py_INCREF(argv[i]);
        PyTuple_SetItem(args, i, argv[i]);
    }
    if (!args)
        return NULL;
    PyObject *result = launch_with(PyType_GetModuleState(type), (kernel_object *)self, args);
    Py_DECREF(args);
    return result;
}

static PyMethodDef kernel_methods[] = {
    {"listing", kernel_listing, METH_NOARGS, "The virtual GPU's bytecode as text."},
    {"launch", (PyCFunction)(void (*)(void))kernel_launch, METH_METHOD | METH_FASTCALL | METH_KEYWORDS,
     "launch(grid, group, buffers, threadgroup={}, threads=0, max_steps=0, grid_threads=(0, 0, 0))"},
    {0},
};
static PyType_Slot kernel_slots[] = {
    {Py_tp_dealloc, (void *)kernel_dealloc},
    {Py_tp_methods, kernel_methods},
    {0, NULL},
};
PyType_Spec kernel_spec = {
    .name = "triton_metal._core.Kernel",
    .basicsize = sizeof(kernel_object),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION,
    .slots = kernel_slots,
};
