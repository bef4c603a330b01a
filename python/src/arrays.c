/* SPDX-License-Identifier: MIT */
/* Where a tensor's or array's memory lies, without copying. Bounds are those of the allocation the
 * array is a view of (torch storage, NumPy's outermost base), so that kernels may use strides and
 * offsets freely inside it; whatever lies outside is out of bounds to the virtual GPU.
 * Known by their own ways: torch.Tensor (and subclasses), numpy.ndarray. Everything else through
 * __array_struct__, __array_interface__ or __dlpack__, in this order. */
#include "core.h"
#include <string.h>

/* NumPy's array interface, version 3, as its documentation lays it out. */
typedef struct array_struct {
    int two, nd;
    char typekind;
    int itemsize, flags;
    Py_ssize_t *shape, *strides;
    void *data;
    PyObject *descr;
} array_struct;
enum { ARRAY_WRITEABLE = 0x400 };

/* DLPack 0.x/1.x, the fields up to byte_offset are the same in both. */
typedef struct dl_tensor {
    void *data;
    int32_t device_type, device_id;
    int32_t ndim;
    struct { uint8_t code, bits; uint16_t lanes; } dtype;
    int64_t *shape, *strides;
    uint64_t byte_offset;
} dl_tensor;
enum { DL_CPU = 1 };

static int refuse(tm_context *ctx, const char *name, PyObject *array, const char *why) {
    PyObject *type = PyObject_GetAttrString((PyObject *)Py_TYPE(array), "__name__");
    const char *str = type ? PyUnicode_AsUTF8AndSize(type, NULL) : NULL;
    PyErr_Clear();
    diag_at(ctx->ctx, NULL, TM5025, name, str ? str : "?", why);
    Py_XDECREF(type);
    return -1;
}

static int call_address(PyObject *object, PyObject *method, void **out) {
    PyObject *number = PyObject_CallMethodObjArgs(object, method, NULL);
    if (!number)
        return -1;
    *out = PyLong_AsVoidPtr(number);
    Py_DECREF(number);
    return PyErr_Occurred() ? -1 : 0;
}

static int call_size(PyObject *object, PyObject *method, size_t *out) {
    PyObject *number = PyObject_CallMethodObjArgs(object, method, NULL);
    if (!number)
        return -1;
    *out = PyLong_AsSize_t(number);
    Py_DECREF(number);
    return PyErr_Occurred() ? -1 : 0;
}

static int wrong_device(core_state *st, tm_context *ctx, const char *name, PyObject *tensor) {
    PyObject *device = PyObject_GetAttr(tensor, st->s_device);
    PyObject *shown = device ? PyObject_Str(device) : NULL;
    const char *str = shown ? PyUnicode_AsUTF8AndSize(shown, NULL) : NULL;
    PyErr_Clear();
    diag_at(ctx->ctx, NULL, TM5020, name, str ? str : "?");
    Py_XDECREF(shown);
    Py_XDECREF(device);
    return -1;
}

static int torch_memory(core_state *st, tm_context *ctx, const char *name, PyObject *tensor,
                        array_memory *out) {
    PyObject *cpu = PyObject_GetAttr(tensor, st->s_is_cpu);
    bool on_cpu = cpu && PyObject_IsTrue(cpu) == 1;
    Py_XDECREF(cpu);
    if (!on_cpu)
        return wrong_device(st, ctx, name, tensor);
    void *data, *start;
    size_t bytes;
    PyObject *storage = PyObject_CallMethodObjArgs(tensor, st->s_untyped_storage, NULL);
    int status = storage ? call_address(tensor, st->s_data_ptr, &data) : -1;
    if (status == 0)
        status = call_address(storage, st->s_data_ptr, &start);
    if (status == 0)
        status = call_size(storage, st->s_nbytes, &bytes);
    Py_XDECREF(storage);
    if (status != 0)
        return -1;
    out->data = data;
    out->before = data ? (size_t)((char *)data - (char *)start) : 0;
    out->size = data ? bytes - out->before : 0; /* an empty tensor has no address */
    return 0;
}

/* The bytes an array of this shape covers: [*low, *high) around data. */
static void strided_extent(int nd, const Py_ssize_t *shape, const Py_ssize_t *strides,
                           Py_ssize_t itemsize, Py_ssize_t *low, Py_ssize_t *high) {
    *low = 0;
    *high = itemsize;
    for (int i = 0; i < nd; i++) {
        if (shape[i] == 0) {
            *low = *high = 0;
            return;
        }
        Py_ssize_t reach = (shape[i] - 1) * strides[i];
        *(reach < 0 ? low : high) += reach;
    }
}

/* Fills out from a capsule of the array interface. 1 when the object has none. */
static int struct_memory(core_state *st, PyObject *array, array_memory *out) {
    PyObject *capsule = PyObject_GetAttr(array, st->s_array_struct);
    if (!capsule) {
        PyErr_Clear();
        return 1;
    }
    const array_struct *a = PyCapsule_CheckExact(capsule) ? PyCapsule_GetPointer(capsule, NULL) : NULL;
    if (!a || a->two != 2) {
        Py_DECREF(capsule);
        PyErr_Clear();
        return 1;
    }
    Py_ssize_t low, high;
    strided_extent(a->nd, a->shape, a->strides, a->itemsize, &low, &high);
    *out = (array_memory){.data = a->data,
                          .size = (size_t)high,
                          .before = (size_t)-low,
                          .flags = a->flags & ARRAY_WRITEABLE ? 0 : ARRAY_READ_ONLY};
    Py_DECREF(capsule);
    return 0;
}

/* A NumPy view: the bounds are those of the outermost array it views. */
static int numpy_memory(core_state *st, PyObject *array, array_memory *out) {
    int status = struct_memory(st, array, out);
    if (status != 0)
        return status;
    PyObject *outer = NULL;
    for (PyObject *at = array;;) {
        PyObject *base = PyObject_GetAttr(at, st->s_base);
        bool is_array = base && st->numpy_array && PyObject_TypeCheck(base, st->numpy_array);
        if (!is_array) {
            Py_XDECREF(base);
            break;
        }
        Py_XDECREF(outer);
        outer = at = base;
    }
    PyErr_Clear();
    array_memory whole;
    if (outer && struct_memory(st, outer, &whole) == 0 && out->data >= whole.data - whole.before &&
        out->data + out->size <= whole.data + whole.size) {
        out->before = (size_t)(out->data - (whole.data - whole.before));
        out->size = (size_t)(whole.data + whole.size - out->data);
    }
    Py_XDECREF(outer);
    return 0;
}

static Py_ssize_t tuple_product(PyObject *shape) {
    Py_ssize_t product = 1;
    for (Py_ssize_t i = 0; i < PyTuple_Size(shape); i++)
        product *= PyLong_AsSsize_t(PyTuple_GetItem(shape, i));
    return product;
}

/* __array_interface__, contiguous arrays only. 1 when the object has none. */
static int interface_memory(core_state *st, PyObject *array, array_memory *out) {
    PyObject *d = PyObject_GetAttr(array, st->s_array_interface);
    if (!d || !PyDict_Check(d)) {
        PyErr_Clear();
        Py_XDECREF(d);
        return 1;
    }
    PyObject *data = PyDict_GetItemString(d, "data"), *shape = PyDict_GetItemString(d, "shape"),
             *type = PyDict_GetItemString(d, "typestr"), *strides = PyDict_GetItemString(d, "strides");
    int status = 1;
    if (data && PyTuple_Check(data) && PyTuple_Size(data) == 2 && shape && PyTuple_Check(shape) &&
        type && PyUnicode_Check(type) && (!strides || strides == Py_None)) {
        const char *typestr = PyUnicode_AsUTF8AndSize(type, NULL);
        Py_ssize_t itemsize = typestr && strlen(typestr) > 2 ? strtol(typestr + 2, NULL, 10) : 0;
        *out = (array_memory){.data = PyLong_AsVoidPtr(PyTuple_GetItem(data, 0)),
                              .size = (size_t)(tuple_product(shape) * itemsize)};
        if (PyObject_IsTrue(PyTuple_GetItem(data, 1)) == 1)
            out->flags = ARRAY_READ_ONLY;
        status = PyErr_Occurred() ? -1 : 0;
    }
    Py_DECREF(d);
    return status;
}

/* __dlpack__ on the CPU. The capsule keeps the memory alive. 1 when the object has none. */
static int dlpack_memory(core_state *st, tm_context *ctx, const char *name, PyObject *array,
                         array_memory *out) {
    PyObject *capsule = PyObject_CallMethodObjArgs(array, st->s_dlpack, NULL);
    if (!capsule) {
        if (!PyErr_ExceptionMatches(PyExc_AttributeError))
            return -1;
        PyErr_Clear();
        return 1;
    }
    const dl_tensor *t = PyCapsule_GetPointer(capsule, "dltensor");
    int status = t ? 0 : -1;
    if (t && t->device_type != DL_CPU) {
        status = wrong_device(st, ctx, name, array);
    } else if (t) {
        Py_ssize_t itemsize = (t->dtype.bits * t->dtype.lanes + 7) / 8, low = 0, high = itemsize;
        Py_ssize_t step = 1;
        for (int i = t->ndim; i-- > 0; step *= (Py_ssize_t)t->shape[i]) {
            Py_ssize_t stride = t->strides ? (Py_ssize_t)t->strides[i] : step;
            Py_ssize_t reach = ((Py_ssize_t)t->shape[i] - 1) * stride * itemsize;
            if (t->shape[i] == 0)
                low = high = 0;
            else
                *(reach < 0 ? &low : &high) += reach;
        }
        *out = (array_memory){.data = (char *)t->data + t->byte_offset,
                              .size = (size_t)high,
                              .before = (size_t)-low,
                              .keep = capsule};
        return 0;
    }
    Py_DECREF(capsule);
    return status;
}

static int other_memory(core_state *st, tm_context *ctx, const char *name, PyObject *array,
                        array_memory *out) {
    if (PyObject_HasAttr(array, st->s_untyped_storage))
        return torch_memory(st, ctx, name, array, out);
    if (PyObject_HasAttr(array, st->s_data_ptr) && PyObject_HasAttr(array, st->s_base)) {
        PyObject *base = PyObject_GetAttr(array, st->s_base); /* triton.reinterpret's wrapper */
        int status = base ? array_memory_get(st, ctx, name, base, out) : -1;
        Py_XDECREF(base);
        return status;
    }
    int status = numpy_memory(st, array, out);
    if (status > 0)
        status = interface_memory(st, array, out);
    if (status > 0)
        status = dlpack_memory(st, ctx, name, array, out);
    return status > 0 ? refuse(ctx, name, array, "no torch storage, array interface or DLPack")
                      : status;
}

/* Remembers torch.Tensor and numpy.ndarray once a process has imported them. */
static void learn_type(PyTypeObject **slot, const char *module, const char *type) {
    PyObject *modules = PyImport_GetModuleDict();
    PyObject *m = modules ? PyDict_GetItemString(modules, module) : NULL;
    PyObject *t = m ? PyObject_GetAttrString(m, type) : NULL;
    if (t && PyType_Check(t))
        *slot = (PyTypeObject *)t;
    else
        Py_XDECREF(t);
    PyErr_Clear();
}

int array_memory_get(core_state *st, tm_context *ctx, const char *name, PyObject *array,
                     array_memory *out) {
    *out = (array_memory){0};
    if (array == Py_None)
        return 0;
    if (!st->torch_tensor)
        learn_type(&st->torch_tensor, "torch", "Tensor");
    if (!st->numpy_array)
        learn_type(&st->numpy_array, "numpy", "ndarray");
    if (st->torch_tensor && PyObject_TypeCheck(array, st->torch_tensor))
        return torch_memory(st, ctx, name, array, out);
    if (st->numpy_array && PyObject_TypeCheck(array, st->numpy_array))
        return numpy_memory(st, array, out) == 0 ? 0 : refuse(ctx, name, array, "no array interface");
    return other_memory(st, ctx, name, array, out);
}

int array_is_scalar(core_state *st, PyObject *object) {
    if (!st->numpy_scalar)
        learn_type(&st->numpy_scalar, "numpy", "generic");
    return st->numpy_scalar && PyObject_TypeCheck(object, st->numpy_scalar);
}

int array_needs_proxy(core_state *st, PyObject *object) {
    if (!st->numpy_array)
        learn_type(&st->numpy_array, "numpy", "ndarray");
    if (st->numpy_array && PyObject_TypeCheck(object, st->numpy_array))
        return 1;
    return !PyObject_HasAttr(object, st->s_data_ptr) && PyObject_HasAttr(object, st->s_dtype) &&
           (PyObject_HasAttr(object, st->s_array_interface) || PyObject_HasAttr(object, st->s_dlpack));
}

/* ---- The proxy ---------------------------------------------------------------------------------- */
typedef struct array_proxy {
    PyObject_HEAD
    PyObject *array;
} array_proxy;

PyObject *array_proxy_new(core_state *st, PyObject *array) {
    array_proxy *p = PyObject_New(array_proxy, st->proxy);
    if (p) {
        Py_INCREF(array);
        p->array = array;
    }
    return (PyObject *)p;
}

static void proxy_dealloc(PyObject *self) {
    PyTypeObject *type = Py_TYPE(self);
    Py_DECREF(((array_proxy *)self)->array);
    PyObject_Free(self);
    Py_DECREF(type);
}

static PyObject *proxy_data_ptr(PyObject *self, PyTypeObject *type, PyObject *const *args,
                                Py_ssize_t n, PyObject *names) {
    core_state *st = PyType_GetModuleState(type);
    PyObject *array = ((array_proxy *)self)->array;
    array_memory m;
    if (st->numpy_array && PyObject_TypeCheck(array, st->numpy_array) &&
        struct_memory(st, array, &m) == 0)
        return PyLong_FromVoidPtr(m.data);
    tm_context *ctx = tm_context_new();
    if (!ctx)
        return raise_no_memory();
    int status = array_memory_get(st, ctx, "", array, &m);
    PyObject *result = status == 0 ? PyLong_FromVoidPtr(m.data) : raise_diags(ctx, "launch");
    if (status == 0)
        Py_XDECREF(m.keep);
    tm_context_free(ctx);
    return result;
}

/* What Triton maps to its own type: NumPy's dtype as it is (Triton remembers dtype objects), else
 * the plain name ("float32", "bfloat16"). */
static PyObject *proxy_dtype(PyObject *self, void *closure) {
    PyObject *array = ((array_proxy *)self)->array, *dtype = PyObject_GetAttrString(array, "dtype");
    core_state *st = PyType_GetModuleState(Py_TYPE(self));
    if (st->numpy_array && PyObject_TypeCheck(array, st->numpy_array))
        return dtype;
    PyObject *shown = dtype ? PyObject_Str(dtype) : NULL;
    Py_XDECREF(dtype);
    const char *str = shown ? PyUnicode_AsUTF8AndSize(shown, NULL) : NULL;
    const char *dot = str ? strrchr(str, '.') : NULL;
    PyObject *result = str ? PyUnicode_FromString(dot ? dot + 1 : str) : NULL;
    Py_XDECREF(shown);
    return result;
}

static PyMethodDef proxy_methods[] = {
    {"data_ptr", (PyCFunction)(void (*)(void))proxy_data_ptr, METH_METHOD | METH_FASTCALL | METH_KEYWORDS,
     "The address of the first element."},
    {0},
};
static PyGetSetDef proxy_getset[] = {{"dtype", proxy_dtype, NULL, "The element type's name.", NULL}, {0}};
static PyType_Slot proxy_slots[] = {
    {Py_tp_dealloc, (void *)proxy_dealloc},
    {Py_tp_methods, proxy_methods},
    {Py_tp_getset, proxy_getset},
    {0, NULL},
};
PyType_Spec array_proxy_spec = {
    .name = "triton_metal._core.ArrayProxy",
    .basicsize = sizeof(array_proxy),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION,
    .slots = proxy_slots,
};
