/* SPDX-License-Identifier: MIT */
/* Python numbers to the bytes of a kernel's scalar buffer. The names are those of Triton's
 * signatures. Floats are rounded once, from double to the type, to nearest even; integers must fit. */
#include "core.h"
#include "ir/format.h"
#include <string.h>

int scalar_type_parse(const char *name, scalar_type *out) {
    static const struct { const char *name; scalar_type type; } table[] = {
        {"i1", {SCALAR_BOOL, 1}},   {"u1", {SCALAR_BOOL, 1}},   {"i8", {SCALAR_INT, 1}},
        {"i16", {SCALAR_INT, 2}},   {"i32", {SCALAR_INT, 4}},   {"i64", {SCALAR_INT, 8}},
        {"u8", {SCALAR_UINT, 1}},   {"u16", {SCALAR_UINT, 2}},  {"u32", {SCALAR_UINT, 4}},
        {"u64", {SCALAR_UINT, 8}},  {"fp16", {SCALAR_FLOAT, 2}}, {"bf16", {SCALAR_BF16, 2}},
        {"fp32", {SCALAR_FLOAT, 4}}, {"f32", {SCALAR_FLOAT, 4}}, {"fp64", {SCALAR_FLOAT, 8}},
    };
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        if (strcmp(table[i].name, name) == 0) {
            *out = table[i].type;
            return 0;
        }
    }
    return -1;
}

static int write_float(scalar_type type, double value, unsigned char *out) {
    static const unsigned char kind_of_size[9] = {[2] = IR_F16, [4] = IR_F32, [8] = IR_F64};
    uint64_t bits = ir_float_encode(type.kind == SCALAR_BF16 ? IR_BF16 : kind_of_size[type.size], value);
    memcpy(out, &bits, type.size);
    return 0;
}

static int write_unsigned(PyObject *index, int size, unsigned char *out) {
    unsigned long long u = PyLong_AsUnsignedLongLong(index);
    if (u == (unsigned long long)-1 && PyErr_Occurred())
        return -1;
    if (size < 8 && u >> (8 * size))
        return -1;
    memcpy(out, &u, (size_t)size);
    return 0;
}

static int write_signed(PyObject *index, int size, unsigned char *out) {
    int overflow;
    long long i = PyLong_AsLongLongAndOverflow(index, &overflow);
    if (overflow || (i == -1 && PyErr_Occurred()))
        return -1;
    if (size < 8 && (i < -(1ll << (8 * size - 1)) || i >= 1ll << (8 * size - 1)))
        return -1;
    memcpy(out, &i, (size_t)size);
    return 0;
}

static int wrong_type(tm_context *ctx, const char *name, const char *type_name, PyObject *value) {
    PyObject *type = PyObject_GetAttrString((PyObject *)Py_TYPE(value), "__name__");
    const char *str = type ? PyUnicode_AsUTF8AndSize(type, NULL) : NULL;
    PyErr_Clear();
    diag_at(ctx->ctx, NULL, TM5021, name, type_name, str ? str : "?");
    Py_XDECREF(type);
    return -1;
}

int scalar_write(tm_context *ctx, const char *name, const char *type_name, scalar_type type,
                 PyObject *value, unsigned char *out) {
    if (type.kind == SCALAR_FLOAT || type.kind == SCALAR_BF16) {
        double d = PyFloat_AsDouble(value);
        if (d == -1.0 && PyErr_Occurred())
            return wrong_type(ctx, name, type_name, value);
        return write_float(type, d, out);
    }
    if (type.kind == SCALAR_BOOL) {
        int truth = PyObject_IsTrue(value);
        *out = truth > 0;
        return truth < 0 ? -1 : 0;
    }
    PyObject *index = PyNumber_Index(value);
    if (!index)
        return wrong_type(ctx, name, type_name, value);
    int status = type.kind == SCALAR_UINT ? write_unsigned(index, type.size, out)
                                          : write_signed(index, type.size, out);
    Py_DECREF(index);
    if (status != 0) {
        PyErr_Clear();
        diag_at(ctx->ctx, NULL, TM5022, name, type_name);
    }
    return status;
}
