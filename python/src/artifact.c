/* SPDX-License-Identifier: MIT */
/* compile(): TTIR text to an Artifact, whose forms ("ttir" .. "metallib") are fetched as bytes. */
#include "core.h"

typedef struct artifact {
    PyObject_HEAD
    tm_artifact *a;
} artifact;

static void artifact_dealloc(PyObject *self) {
    PyTypeObject *type = Py_TYPE(self);
    tm_artifact_free(((artifact *)self)->a);
    PyObject_Free(self);
    Py_DECREF(type);
}

static PyObject *artifact_get(PyObject *self, PyObject *form) {
    const char *name = PyUnicode_AsUTF8AndSize(form, NULL);
    if (!name)
        return NULL;
    size_t len;
    const void *data = tm_artifact_get(((artifact *)self)->a, name, &len);
    if (data)
        return PyBytes_FromStringAndSize(data, (Py_ssize_t)len);
    PyErr_Format(PyExc_KeyError, "the artifact has no form '%s'", name);
    return NULL;
}

static PyObject *artifact_info(PyObject *self, PyObject *unused) {
    tm_kernel_info i;
    tm_artifact_info(((artifact *)self)->a, &i);
    return Py_BuildValue("{sssIsIsIsI}", "name", i.name, "threads", i.threads, "threadgroup_bytes",
                         i.threadgroup_bytes, "pointers", i.n_pointers, "scalar_bytes", i.scalar_bytes);
}

/* [(pass, nanoseconds)] of the steps that ran, in order. */
static PyObject *artifact_times(PyObject *self, PyObject *unused) {
    PyObject *list = PyList_New(0);
    for (uint32_t i = 0; list && i < tm_pass_count(); i++) {
        unsigned long long ns = tm_artifact_pass_ns(((artifact *)self)->a, i);
        PyObject *row = ns ? Py_BuildValue("(sK)", tm_pass_name(i), ns) : NULL;
        if (row && PyList_Append(list, row) != 0)
            Py_CLEAR(list);
        Py_XDECREF(row);
        if (PyErr_Occurred())
            Py_CLEAR(list);
    }
    return list;
}

static PyMethodDef artifact_methods[] = {
    {"get", artifact_get, METH_O, "One form of the kernel, as bytes."},
    {"info", artifact_info, METH_NOARGS, "Name, threads, threadgroup bytes, buffers, scalar bytes."},
    {"times", artifact_times, METH_NOARGS, "[(pass, nanoseconds)] in the order they ran."},
    {0},
};
static PyType_Slot artifact_slots[] = {
    {Py_tp_dealloc, (void *)artifact_dealloc},
    {Py_tp_methods, artifact_methods},
    {0, NULL},
};
PyType_Spec artifact_spec = {
    .name = "triton_metal._core.Artifact",
    .basicsize = sizeof(artifact),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION,
    .slots = artifact_slots,
};

static void call_dump(void *data, uint32_t index, const char *pass, const char *ir, size_t len) {
    if (PyErr_Occurred())
        return;
    PyObject *r = PyObject_CallFunction(data, "Iss#", (unsigned)index, pass, ir, (Py_ssize_t)len);
    Py_XDECREF(r);
}

PyObject *core_compile(PyObject *module, PyObject *args, PyObject *kwargs) {
    static char *names[] = {"ttir", "name", "num_warps", "target", "macos", "keep_stages", "verify",
                            "stop_after", "dump", "on_dump", NULL};
    const char *ttir, *name = "kernel.ttir";
    Py_ssize_t len;
    tm_options o = {0};
    unsigned warps = 0, macos = 0;
    PyObject *on_dump = NULL;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "s#|sIzIppzzO", names, &ttir, &len, &name, &warps,
                                     &o.target, &macos, &o.keep_stages, &o.verify, &o.stop_after,
                                     &o.dump, &on_dump))
        return NULL;
    o.num_warps = warps;
    o.macos = macos;
    if (on_dump && on_dump != Py_None) {
        o.on_dump = call_dump;
        o.dump_data = on_dump;
    }
    tm_context *ctx = tm_context_new();
    if (!ctx)
        return raise_no_memory();
    tm_artifact *a;
    PyThreadState *saved = o.on_dump ? NULL : PyEval_SaveThread();
    a = tm_compile(ctx, ttir, (size_t)len, name, &o);
    if (saved)
        PyEval_RestoreThread(saved);
    artifact *result = NULL;
    if (!a)
        raise_diags(ctx, "compile");
    else if (!PyErr_Occurred())
        result = PyObject_New(artifact, core_get_state(module)->artifact);
    if (result)
        result->a = a;
    else
        tm_artifact_free(a);
    tm_context_free(ctx);
    return (PyObject *)result;
}
