/* SPDX-License-Identifier: MIT */
/* The launcher: what Triton calls with a grid and all arguments of a kernel. The signature is
 * compiled once to a flat list of steps (a tuple's step counts the steps of its elements), so that
 * a launch is one walk over the arguments: pointers become buffers, scalars go to their offset in
 * one block of bytes. It hands Triton a plain built-in method: the cheapest call there is.
 * Steps and arguments stay in the order of the kernel's parameters; the scalar layout is that of
 * air_scalar_layout (natural alignment, in order), and make_launcher checks that both agree. */
#include "core.h"
#include <stdlib.h>
#include <string.h>

enum step_kind { STEP_SKIP, STEP_POINTER, STEP_SCALAR, STEP_TUPLE, STEP_DESCRIPTOR };
typedef struct step {
    unsigned char kind;
    scalar_type scalar;
    uint32_t offset;        /* SCALAR: in the scalar block; DESCRIPTOR: of its first scalar */
    uint32_t count;         /* TUPLE: elements; DESCRIPTOR: dimensions */
    const char *name, *type; /* for messages; owned by the launcher's strings */
} step;

enum { MAX_STEPS = 4096, INLINE_BUFFERS = 64, INLINE_SCALARS = 1024, MAX_NESTING = 16, MAX_RANK = 8 };

typedef struct launcher {
    PyObject_HEAD
    step *steps;
    uint32_t n_steps, n_args, n_pointers, scalar_bytes, threads, host_threads;
    uint64_t max_steps;
    PyObject *lines;        /* bytes, or NULL: source lines of the kernel's instructions */
    PyObject *strings;      /* a list that keeps names and types alive */
    tm_context *spare;      /* taken under the GIL by the launch that runs */
    core_state *st;
    PyObject *module;
} launcher;

/* What one launch fills. */
typedef struct fill {
    launcher *l;
    tm_context *ctx;
    const step *at;
    tm_arg *buffers;
    uint32_t n_buffers;
    uint64_t written;
    unsigned char *scalars;
    PyObject *keep;         /* list, NULL until needed */
} fill;

static int fill_pointer(fill *f, const step *s, PyObject *arg) {
    array_memory m;
    if (array_memory_get(f->l->st, f->ctx, s->name, arg, &m) != 0)
        return -1;
    if (m.keep) {
        if (!f->keep && !(f->keep = PyList_New(0)))
            return -1;
        if (PyList_Append(f->keep, m.keep) != 0)
            return -1;
        Py_DECREF(m.keep);
    }
    uint32_t index = f->n_buffers++;
    if (m.flags & ARRAY_READ_ONLY && index < 64 && f->written >> index & 1)
        return diag_at(f->ctx->ctx, NULL, TM5026, s->name);
    f->buffers[index] = (tm_arg){.kind = TM_ARG_BUFFER,
                                 .index = index,
                                 .data = m.data,
                                 .size = m.size,
                                 .before = m.before};
    if (f->l->st->empty)
        f->buffers[index].written = empty_map(f->l->st, m.data, m.size);
    return 0;
}

static int write_sequence(fill *f, const step *s, PyObject *values, scalar_type type,
                          const char *type_name, unsigned char *out) {
    if (!values)
        return -1;
    int status = 0;
    for (uint32_t i = 0; status == 0 && i < s->count; i++) {
        PyObject *v = PySequence_GetItem(values, (Py_ssize_t)i);
        status = v ? scalar_write(f->ctx, s->name, type_name, type, v, out + i * type.size) : -1;
        Py_XDECREF(v);
    }
    Py_DECREF(values);
    return status;
}

static int write_flag(PyObject *value, const char *true_text, unsigned char *out) {
    if (!value)
        return -1;
    if (true_text)
        *out = PyUnicode_Check(value) && PyUnicode_CompareWithASCIIString(value, true_text) == 0;
    else
        *out = PyObject_IsTrue(value) == 1;
    Py_DECREF(value);
    return 0;
}

/* A host tensor descriptor: base, then shape and strides (i64), two flags, shape (i32), strides
 * (i64), which is how Triton's frontend declares the parameters. */
static int fill_descriptor(fill *f, const step *s, PyObject *arg) {
    static const scalar_type int4 = {SCALAR_INT, 4}, int8 = {SCALAR_INT, 8};
    core_state *st = f->l->st;
    PyObject *base = PyObject_GetAttr(arg, st->s_base);
    int status = base ? fill_pointer(f, s, base) : -1;
    Py_XDECREF(base);
    if (status != 0)
        return -1;
    unsigned char *out = f->scalars + s->offset;
    uint32_t n = s->count, flags = 16 * n, shape = (flags + 2 + 3) & ~3u;
    uint32_t strides = (shape + 4 * n + 7) & ~7u;
    TRY(write_sequence(f, s, PyObject_GetAttr(arg, st->s_shape), int8, "i64", out));
    TRY(write_sequence(f, s, PyObject_GetAttr(arg, st->s_strides), int8, "i64", out + 8 * n));
    TRY(write_flag(PyObject_GetAttr(arg, st->s_padding), "nan", out + flags));
    TRY(write_flag(PyObject_GetAttr(arg, st->s_round_f32_to_tf32), NULL, out + flags + 1));
    TRY(write_sequence(f, s, PyObject_GetAttr(arg, st->s_shape), int4, "i32", out + shape));
    return write_sequence(f, s, PyObject_GetAttr(arg, st->s_strides), int8, "i64", out + strides);
}

static int fill_arg(fill *f, PyObject *arg, int depth);

static int fill_tuple(fill *f, const step *s, PyObject *arg, int depth) {
    if (!PyTuple_Check(arg) || PyTuple_Size(arg) != (Py_ssize_t)s->count)
        return diag_at(f->ctx->ctx, NULL, TM5021, s->name, "a tuple of the same length", "another value");
    for (uint32_t i = 0; i < s->count; i++)
        TRY(fill_arg(f, PyTuple_GetItem(arg, (Py_ssize_t)i), depth + 1));
    return 0;
}

static int fill_arg(fill *f, PyObject *arg, int depth) {
    const step *s = f->at++;
    switch ((enum step_kind)s->kind) {
    case STEP_SKIP:
        return 0;
    case STEP_POINTER:
        return fill_pointer(f, s, arg);
    case STEP_SCALAR:
        return scalar_write(f->ctx, s->name, s->type, s->scalar, arg, f->scalars + s->offset);
    case STEP_TUPLE:
        return fill_tuple(f, s, arg, depth);
    case STEP_DESCRIPTOR:
        return fill_descriptor(f, s, arg);
    }
    return -1;
}

static int read_grid(tm_context *ctx, PyObject *const *args, uint32_t grid[3]) {
    for (int i = 0; i < 3; i++) {
        PyObject *index = PyNumber_Index(args[i]);
        if (!index)
            return -1;
        int overflow;
        long long v = PyLong_AsLongLongAndOverflow(index, &overflow);
        Py_DECREF(index);
        if (overflow || v < 0 || v > UINT32_MAX)
            return diag_at(ctx->ctx, NULL, TM5024, i, overflow ? -1ll : v);
        grid[i] = (uint32_t)v;
    }
    return 0;
}

static int call_hook(PyObject *hook, PyObject *metadata) {
    if (hook == Py_None)
        return 0;
    PyObject *result = PyObject_CallFunctionObjArgs(hook, metadata, NULL);
    Py_XDECREF(result);
    return result ? 0 : -1;
}

/* gridX, gridY, gridZ, stream, function, packed metadata, launch metadata, enter hook, exit hook,
 * then the arguments. */
enum { A_FUNCTION = 4, A_METADATA = 6, A_ENTER, A_EXIT, A_ARGS };

static int fill_and_run(fill *f, PyObject *const *args, uint32_t grid[3]) {
    launcher *l = f->l;
    kernel_object *kernel = (kernel_object *)args[A_FUNCTION];
    if (Py_TYPE(kernel) != l->st->kernel)
        return diag_at(f->ctx->ctx, NULL, TM9001, "the launcher was called without a kernel");
    f->written = kernel->written;
    if (kernel->setting != l->st->setting || (l->lines && !kernel->lines))
        TRY(kernel_prepare(l->st, f->ctx, kernel, l->lines ? PyBytes_AsString(l->lines) : NULL,
                           l->lines ? (size_t)PyBytes_Size(l->lines) : 0));
    memset(f->scalars, 0, l->scalar_bytes);
    for (uint32_t i = 0; i < l->n_args; i++)
        TRY(fill_arg(f, args[A_ARGS + i], 0));
    if (l->scalar_bytes)
        f->buffers[f->n_buffers] = (tm_arg){.kind = TM_ARG_BYTES,
                                            .index = f->n_buffers,
                                            .data = f->scalars,
                                            .size = l->scalar_bytes};
    TRY(call_hook(args[A_ENTER], args[A_METADATA]));
    if (grid[0] && grid[1] && grid[2]) {
        tm_launch_params params = {.grid = {grid[0], grid[1], grid[2]},
                                   .group = {l->threads, 1, 1},
                                   .args = f->buffers,
                                   .n_args = f->n_buffers + (l->scalar_bytes != 0),
                                   .threads = l->host_threads,
                                   .max_steps = l->max_steps,
                                   .order = l->st->order,
                                   .seed = l->st->seed};
        int status;
        counting count;
        TRY(counting_begin(l->st, kernel, &count));
        params.counters = count.into;
        Py_BEGIN_ALLOW_THREADS
        status = tm_launch(f->ctx, count.kernel, &params);
        Py_END_ALLOW_THREADS
        TRY(counting_end(l->st, &count, status));
    }
    return call_hook(args[A_EXIT], args[A_METADATA]);
}

static PyObject *launch(PyObject *self, PyObject *const *args, Py_ssize_t n) {
    launcher *l = (launcher *)self;
    tm_context *ctx = l->spare ? l->spare : tm_context_new();
    l->spare = NULL;
    if (!ctx)
        return raise_no_memory();
    tm_arg inline_buffers[INLINE_BUFFERS];
    unsigned char inline_scalars[INLINE_SCALARS];
    uint32_t grid[3];
    fill f = {.l = l, .ctx = ctx, .at = l->steps};
    bool big = l->n_pointers + 1 > INLINE_BUFFERS, wide = l->scalar_bytes > INLINE_SCALARS;
    f.buffers = big ? malloc((l->n_pointers + 1) * sizeof *f.buffers) : inline_buffers;
    f.scalars = wide ? malloc(l->scalar_bytes) : inline_scalars;
    int status = -1;
    if (!f.buffers || !f.scalars)
        PyErr_NoMemory();
    else if (n != (Py_ssize_t)(A_ARGS + l->n_args))
        diag_at(ctx->ctx, NULL, TM5023, (unsigned)MAX(n - A_ARGS, 0), l->n_args);
    else if (read_grid(ctx, args, grid) == 0)
        status = fill_and_run(&f, args, grid);
    if (status != 0)
        raise_diags(ctx, "launch");
    if (big)
        free(f.buffers);
    if (wide)
        free(f.scalars);
    Py_XDECREF(f.keep);
    if (status != 0)
        tm_diag_clear(ctx);
    if (l->spare)
        tm_context_free(ctx);
    else
        l->spare = ctx;
    if (status != 0)
        return NULL;
    Py_INCREF(Py_None);
    return Py_None;
}

static PyMethodDef launch_def = {"launch", (PyCFunction)(void (*)(void))launch, METH_FASTCALL,
                                 "Runs the kernel over a grid."};

/* ---- Making one ---------------------------------------------------------------------------------- */
static const char *keep_string(launcher *l, PyObject *str) {
    return PyList_Append(l->strings, str) == 0 ? PyUnicode_AsUTF8AndSize(str, NULL) : NULL;
}

static uint32_t align_to(uint32_t value, uint32_t alignment) {
    return (value + alignment - 1) / alignment * alignment;
}

/* "tensordesc<fp16[64, 64]>" has two dimensions. */
static uint32_t descriptor_rank(const char *type) {
    const char *open = strchr(type, '['), *close = open ? strchr(open, ']') : NULL;
    uint32_t rank = close ? 1 : 0;
    for (; open && open < close; open++)
        rank += *open == ',';
    const char *given = strstr(type, ",input_rank=");
    return given ? (uint32_t)strtoul(given + 12, NULL, 10) : rank;
}

static int plan_leaf(launcher *l, step *s, const char *type) {
    if (strcmp(type, "constexpr") == 0) {
        s->kind = STEP_SKIP;
    } else if (type[0] == '*') {
        s->kind = STEP_POINTER;
        l->n_pointers++;
    } else if (strncmp(type, "tensordesc", 10) == 0) {
        s->kind = STEP_DESCRIPTOR;
        s->count = descriptor_rank(type);
        if (s->count == 0 || s->count > MAX_RANK)
            return -1;
        l->n_pointers++;
        s->offset = align_to(l->scalar_bytes, 8);
        uint32_t shape = align_to(s->offset + 16 * s->count + 2, 4);
        l->scalar_bytes = align_to(shape + 4 * s->count, 8) + 8 * s->count;
    } else if (scalar_type_parse(type, &s->scalar) == 0) {
        s->kind = STEP_SCALAR;
        s->offset = align_to(l->scalar_bytes, s->scalar.size);
        l->scalar_bytes = s->offset + s->scalar.size;
    } else {
        return -1;
    }
    return 0;
}

static int plan(launcher *l, PyObject *type, const char *name, int depth) {
    if (l->n_steps == MAX_STEPS || depth > MAX_NESTING)
        return -1;
    step *s = &l->steps[l->n_steps++];
    s->name = name;
    if (PyTuple_Check(type)) {
        s->kind = STEP_TUPLE;
        s->count = (uint32_t)PyTuple_Size(type);
        for (uint32_t i = 0; i < s->count; i++)
            TRY(plan(l, PyTuple_GetItem(type, (Py_ssize_t)i), name, depth + 1));
        return 0;
    }
    s->type = PyUnicode_Check(type) ? keep_string(l, type) : NULL;
    return s->type ? plan_leaf(l, s, s->type) : -1;
}

static int plan_signature(launcher *l, PyObject *names, PyObject *types) {
    l->n_args = (uint32_t)PyTuple_Size(types);
    for (uint32_t i = 0; i < l->n_args; i++) {
        const char *name = keep_string(l, PyTuple_GetItem(names, (Py_ssize_t)i));
        if (!name)
            return -1;
        if (plan(l, PyTuple_GetItem(types, (Py_ssize_t)i), name, 0) != 0) {
            if (!PyErr_Occurred())
                PyErr_Format(PyExc_TypeError, "kernel argument '%s' has a type that cannot be passed: %S",
                             name, PyTuple_GetItem(types, (Py_ssize_t)i));
            return -1;
        }
    }
    return 0;
}

static void launcher_dealloc(PyObject *self) {
    launcher *l = (launcher *)self;
    PyTypeObject *type = Py_TYPE(self);
    free(l->steps);
    Py_XDECREF(l->strings);
    Py_XDECREF(l->lines);
    Py_XDECREF(l->module);
    tm_context_free(l->spare);
    PyObject_Free(self);
    Py_DECREF(type);
}

static launcher *launcher_new(PyObject *module) {
    core_state *st = core_get_state(module);
    launcher *l = PyObject_New(launcher, st->launcher);
    if (!l)
        return NULL;
    memset((char *)l + sizeof(PyObject), 0, sizeof *l - sizeof(PyObject));
    l->st = st;
    l->module = module;
    Py_INCREF(module);
    l->strings = PyList_New(0);
    l->steps = calloc(MAX_STEPS, sizeof *l->steps);
    if (!l->steps || !l->strings) {
        Py_DECREF((PyObject *)l);
        PyErr_NoMemory();
        return NULL;
    }
    return l;
}

PyObject *core_make_launcher(PyObject *module, PyObject *args, PyObject *kwargs) {
    static char *names[] = {"names", "types", "threads", "pointers", "scalar_bytes", "host_threads",
                            "max_steps", "lines", NULL};
    PyObject *arg_names, *types, *lines = NULL;
    unsigned threads, pointers, scalar_bytes, host_threads = 0;
    unsigned long long max_steps = 0;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "O!O!III|IKS", names, &PyTuple_Type, &arg_names,
                                     &PyTuple_Type, &types, &threads, &pointers, &scalar_bytes,
                                     &host_threads, &max_steps, &lines))
        return NULL;
    launcher *l = launcher_new(module);
    if (!l)
        return NULL;
    l->threads = threads;
    l->host_threads = host_threads;
    l->max_steps = max_steps;
    Py_XINCREF(lines);
    l->lines = lines;
    PyObject *result = NULL;
    if (plan_signature(l, arg_names, types) != 0)
        goto out;
    if (l->n_pointers != pointers || align_to(l->scalar_bytes, 16) != align_to(scalar_bytes, 16)) {
        PyErr_Format(PyExc_RuntimeError,
                     "the kernel takes %u buffers and %u bytes of scalars, its signature gives %u and %u",
                     pointers, scalar_bytes, l->n_pointers, l->scalar_bytes);
        goto out;
    }
    l->scalar_bytes = MAX(l->scalar_bytes, scalar_bytes);
    step *fitted = realloc(l->steps, MAX(l->n_steps, 1u) * sizeof *fitted);
    l->steps = fitted ? fitted : l->steps;
    result = PyCFunction_NewEx(&launch_def, (PyObject *)l, NULL);
out:
    Py_DECREF((PyObject *)l);
    return result;
}

static PyType_Slot launcher_slots[] = {{Py_tp_dealloc, (void *)launcher_dealloc}, {0, NULL}};
PyType_Spec launcher_spec = {
    .name = "triton_metal._core.Launcher",
    .basicsize = sizeof(launcher),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION,
    .slots = launcher_slots,
};
