/* SPDX-License-Identifier: MIT */
/* Counting launches. While a sink is set, each launch runs the kernel as decoded for counting, and the sink
 * is called with the launch's Counters. Without a sink a launch pays one comparison. */
#include "core.h"

typedef struct counters_object {
    PyObject_HEAD
    tm_counters *counters;
    PyObject *kernel; /* keeps the code alive */
} counters_object;

static void counters_dealloc(PyObject *self) {
    PyTypeObject *type = Py_TYPE(self);
    tm_counters_free(((counters_object *)self)->counters);
    Py_XDECREF(((counters_object *)self)->kernel);
    PyObject_Free(self);
    Py_DECREF(type);
}

/* text(form="json", chip=None) */
static PyObject *counters_text(PyObject *self, PyObject *args) {
    const char *form = "json", *chip = NULL;
    if (!PyArg_ParseTuple(args, "|sz", &form, &chip))
        return NULL;
    tm_context *ctx = tm_context_new();
    if (!ctx)
        return raise_no_memory();
    const char *str = tm_counters_text(ctx, ((counters_object *)self)->counters, form, chip);
    PyObject *result = str ? PyUnicode_FromString(str) : raise_diags(ctx, "launch");
    tm_context_free(ctx);
    return result;
}

/* estimate(chip=None) */
static PyObject *counters_estimate(PyObject *self, PyObject *args) {
    const char *chip = NULL;
    if (!PyArg_ParseTuple(args, "|z", &chip))
        return NULL;
    tm_context *ctx = tm_context_new();
    if (!ctx)
        return raise_no_memory();
    tm_estimate e;
    PyObject *result = NULL;
    if (tm_counters_estimate(ctx, ((counters_object *)self)->counters, chip, &e) == 0)
        result = Py_BuildValue("{sdsdsdssss}", "low_us", e.low_us, "high_us", e.high_us, "expected_us",
                               e.expected_us, "bound", e.bound, "confidence", e.confidence);
    else
        raise_diags(ctx, "launch");
    tm_context_free(ctx);
    return result;
}

static PyObject *counters_totals(PyObject *self, PyObject *unused) {
    PyObject *dict = PyDict_New();
    for (uint32_t i = 0; dict && i < tm_counter_count(); i++) {
        const char *name = tm_counter_name(i);
        PyObject *v = PyLong_FromUnsignedLongLong(tm_counters_value(((counters_object *)self)->counters, name));
        if (!v || PyDict_SetItemString(dict, name, v) != 0)
            Py_CLEAR(dict);
        Py_XDECREF(v);
    }
    return dict;
}

static PyMethodDef counters_methods[] = {
    {"text", counters_text, METH_VARARGS, "text(form='json', chip=None): 'table', 'json' or 'trace'."},
    {"estimate", counters_estimate, METH_VARARGS, "estimate(chip=None): the model's times in microseconds."},
    {"totals", counters_totals, METH_NOARGS, "The totals by name."},
    {0},
};
static PyType_Slot counters_slots[] = {
    {Py_tp_dealloc, (void *)counters_dealloc},
    {Py_tp_methods, counters_methods},
    {0, NULL},
};
PyType_Spec counters_spec = {
    .name = "triton_metal._core.Counters",
    .basicsize = sizeof(counters_object),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION,
    .slots = counters_slots,
};

int counting_begin(core_state *st, kernel_object *k, counting *out) {
    *out = (counting){.kernel = k->kernel};
    if (!st->profile)
        return 0;
    tm_context *ctx = tm_context_new();
    if (!ctx)
        return raise_no_memory(), -1;
    tm_kernel *kernel = kernel_now(st, ctx, k, true);
    tm_counters *into = kernel ? tm_counters_new(ctx, kernel) : NULL;
    if (into && tm_counters_banks(ctx, into, st->banks, st->bank_bytes) != 0) {
        tm_counters_free(into);
        into = NULL;
    }
    counters_object *c = into ? PyObject_New(counters_object, st->counters) : NULL;
    if (c) {
        Py_INCREF((PyObject *)k);
        c->kernel = (PyObject *)k;
        c->counters = into;
        *out = (counting){.counters = (PyObject *)c, .kernel = kernel, .into = into};
    } else {
        if (!PyErr_Occurred())
            raise_diags(ctx, "launch");
        tm_counters_free(into);
    }
    tm_context_free(ctx);
    return c ? 0 : -1;
}

int counting_end(core_state *st, counting *c, int status) {
    if (!c->counters)
        return status;
    PyObject *sink = st->profile;
    Py_XINCREF(sink);
    PyObject *result = status == 0 && sink ? PyObject_CallFunctionObjArgs(sink, c->counters, NULL) : NULL;
    if (status == 0 && sink && !result)
        status = -1;
    Py_XDECREF(result);
    Py_XDECREF(sink);
    Py_DECREF(c->counters);
    return status;
}

/* set_profile(sink, banks=32, bank_bytes=4): what was set before, as the arguments that set it. */
PyObject *core_set_profile(PyObject *module, PyObject *args) {
    core_state *st = core_get_state(module);
    PyObject *sink;
    unsigned banks = 32, bank_bytes = 4;
    if (!PyArg_ParseTuple(args, "O|II", &sink, &banks, &bank_bytes))
        return NULL;
    PyObject *before = Py_BuildValue("(OII)", st->profile ? st->profile : Py_None, (unsigned)st->banks,
                                     (unsigned)st->bank_bytes);
    if (!before)
        return NULL;
    Py_XDECREF(st->profile);
    st->banks = banks;
    st->bank_bytes = bank_bytes;
    st->profile = sink == Py_None ? NULL : sink;
    Py_XINCREF(st->profile);
    return before;
}
