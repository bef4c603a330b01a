/* SPDX-License-Identifier: MIT */
/* The CPython extension triton_metal._core: the public C API as Python objects, and the launcher
 * that Triton calls for each kernel launch. Stable ABI only (3.10), so that one wheel serves every
 * version. Errors leave as exceptions that triton_metal.errors makes from the C diagnostics. */
#pragma once
#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include "compile/context.h"
#include "base/diag.h"
#include "tritonmetal.h"

/* The state of the one module: types, interned names, and the two array types seen most. */
typedef struct core_state {
    PyTypeObject *artifact, *library, *kernel, *launcher, *proxy, *counters;
    PyObject *profile; /* called with the Counters of each launch; NULL: launches are not counted */
    uint32_t banks, bank_bytes; /* of the bank model while there is a profile */
    PyObject *s_data_ptr, *s_untyped_storage, *s_nbytes, *s_is_cpu, *s_device, *s_base, *s_dtype,
        *s_array_struct, *s_array_interface, *s_dlpack, *s_dlpack_device, *s_shape, *s_strides,
        *s_padding, *s_round_f32_to_tf32;
    PyObject *checks, *numerics; /* str or NULL: how launches want kernels to be decoded */
    uint64_t setting;       /* changes with them */
    PyObject *empty;        /* {address: (bytearray, size)} of buffers that nobody has written */
    uint32_t order;         /* of launches: enum tm_order */
    uint64_t seed;
    PyTypeObject *torch_tensor, *numpy_array, *numpy_scalar; /* strong; NULL until imported */
} core_state;

extern struct PyModuleDef core_module;
core_state *core_get_state(PyObject *module);

/* ---- errors.c */
/* Raises the exception triton_metal.errors.make(kind, diagnostics, text) returns; always NULL. */
PyObject *raise_diags(tm_context *ctx, const char *kind);
PyObject *raise_no_memory(void);

/* ---- arrays.c */
enum { ARRAY_READ_ONLY = 1 };
typedef struct array_memory {
    char *data;
    size_t size, before; /* bytes from data to the end of its allocation, and in front of it */
    int flags;
    PyObject *keep;      /* NULL, or what must live as long as `data` is used */
} array_memory;
/* The memory of a tensor or array, without a copy. -1 with a Python exception, or with a 50xx
 * diagnostic in ctx that names the argument. */
int array_memory_get(core_state *st, tm_context *ctx, const char *name, PyObject *array,
                     array_memory *out);
/* Whether the object gives memory in a way that Triton's own specialisation does not know. */
int array_needs_proxy(core_state *st, PyObject *object);
/* Whether it is a NumPy scalar, which Triton does not know either. */
int array_is_scalar(core_state *st, PyObject *object);
/* An object with data_ptr() and dtype in the array's place. */
PyObject *array_proxy_new(core_state *st, PyObject *array);
extern PyType_Spec array_proxy_spec;

/* ---- scalars.c */
enum scalar_kind { SCALAR_BOOL, SCALAR_INT, SCALAR_UINT, SCALAR_FLOAT, SCALAR_BF16 };
typedef struct scalar_type {
    unsigned char kind, size;
} scalar_type;
int scalar_type_parse(const char *name, scalar_type *out); /* "i32", "u64", "u1", "fp16", ...; -1 */
/* Writes `value` to out. -1 with a Python exception, or a 50xx diagnostic in ctx. */
int scalar_write(tm_context *ctx, const char *name, const char *type_name, scalar_type type,
                 PyObject *value, unsigned char *out);

/* ---- artifact.c, library.c, launcher.c, specialize.c */
extern PyType_Spec artifact_spec, library_spec, kernel_spec, launcher_spec;
PyObject *core_compile(PyObject *module, PyObject *args, PyObject *kwargs);
PyObject *core_load(PyObject *module, PyObject *args, PyObject *kwargs);
PyObject *core_make_launcher(PyObject *module, PyObject *args, PyObject *kwargs);
PyObject *core_make_specializer(PyObject *module, PyObject *native);

/* A kernel decoded in one way. */
typedef struct decoding {
    struct decoding *next;
    tm_kernel *kernel;
    char *checks, *numerics; /* checks may be NULL */
    bool counting;
} decoding;
typedef struct kernel_object {
    PyObject_HEAD
    PyObject *library; /* keeps the code alive */
    tm_kernel *kernel; /* what launches run */
    uint64_t written;  /* bit i: buffer i is stored to */
    uint64_t setting;  /* that `kernel` is for */
    uint32_t index, n_constants;
    tm_constant_value *constants;
    PyObject *names;   /* a dict that keeps the names of the constants alive, or NULL */
    char *lines;       /* a copy of the source lines, or NULL */
    size_t lines_len;
    decoding *own, *decodings; /* own: as library.kernel was called; it is one of the list */
} kernel_object;
/* Finds or makes a decoding of the kernel. NULL with diagnostics in ctx or a Python exception. */
decoding *kernel_decoding(tm_context *ctx, kernel_object *k, const char *checks, const char *numerics, bool count);
/* The same for the checks and numerics that are asked for now. */
tm_kernel *kernel_now(core_state *st, tm_context *ctx, kernel_object *k, bool count);
/* Makes k->kernel the decoding that is asked for now, with source lines. */
int kernel_prepare(core_state *st, tm_context *ctx, kernel_object *k, const char *lines, size_t len);
void kernel_release(kernel_object *k);
tm_library *library_of(PyObject *library);
PyObject *core_set_checks(PyObject *module, PyObject *checks);
PyObject *core_set_numerics(PyObject *module, PyObject *numerics);
PyObject *core_numeric_choices(PyObject *module, PyObject *unused);
PyObject *core_set_order(PyObject *module, PyObject *args);
PyObject *core_mark_empty(PyObject *module, PyObject *args);
/* The map of a marked buffer from this address on; NULL. */
uint8_t *empty_map(core_state *st, const char *data, size_t size);

/* ---- profile.c */
typedef struct counting {
    PyObject *counters;      /* a Counters; NULL when launches are not counted */
    const tm_kernel *kernel; /* the one to launch */
    tm_counters *into;
} counting;
/* Before and after a launch. -1 with a Python exception. */
int counting_begin(core_state *st, kernel_object *k, counting *out);
int counting_end(core_state *st, counting *c, int status);
PyObject *core_set_profile(PyObject *module, PyObject *args);
extern PyType_Spec counters_spec;
