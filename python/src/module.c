/* SPDX-License-Identifier: MIT */
/* The module object: types, interned names, functions. */
#include "core.h"

core_state *core_get_state(PyObject *module) { return PyModule_GetState(module); }

static PyObject *core_version(PyObject *module, PyObject *unused) {
    return PyUnicode_FromString(tm_version());
}
static PyObject *core_isa(PyObject *module, PyObject *unused) { return PyUnicode_FromString(tm_isa()); }

static PyObject *core_passes(PyObject *module, PyObject *unused) {
    PyObject *list = PyList_New(0);
    for (uint32_t i = 0; list && i < tm_pass_count(); i++) {
        PyObject *name = PyUnicode_FromString(tm_pass_name(i));
        if (!name || PyList_Append(list, name) != 0)
            Py_CLEAR(list);
        Py_XDECREF(name);
    }
    return list;
}

static PyObject *core_target(PyObject *module, PyObject *name) {
    const char *str = PyUnicode_AsUTF8AndSize(name, NULL);
    tm_target_info t;
    if (!str)
        return NULL;
    if (tm_target_get(str, &t) != 0)
        return PyErr_Format(PyExc_KeyError, "unknown target '%s'", str);
    return Py_BuildValue("{sssssIsIsIsI}", "name", t.name, "chips", t.chips, "simd_width",
                         (unsigned)t.simd_width, "max_threads", (unsigned)t.max_threads,
                         "threadgroup_bytes", (unsigned)t.threadgroup_bytes, "cores", (unsigned)t.cores);
}

/* The one device and its one stream; Triton asks for both at every launch. */
static PyObject *core_zero(PyObject *module, PyObject *unused) { return PyLong_FromLong(0); }

static PyMethodDef core_methods[] = {
    {"version", core_version, METH_NOARGS, "Version and build id of the C library."},
    {"isa", core_isa, METH_NOARGS, "The host instruction set the virtual GPU chose."},
    {"passes", core_passes, METH_NOARGS, "The compiler's steps in order."},
    {"target", core_target, METH_O, "Limits of one GPU family."},
    {"compile", (PyCFunction)(void (*)(void))core_compile, METH_VARARGS | METH_KEYWORDS,
     "compile(ttir, name='kernel.ttir', num_warps=4, target='apple9', macos=15, ...) -> Artifact"},
    {"load", (PyCFunction)(void (*)(void))core_load, METH_VARARGS | METH_KEYWORDS,
     "load(data) -> Library"},
    {"make_launcher", (PyCFunction)(void (*)(void))core_make_launcher, METH_VARARGS | METH_KEYWORDS,
     "make_launcher(names, types, threads, pointers, scalar_bytes, host_threads=0, max_steps=0, lines=b'')"},
    {"make_specializer", core_make_specializer, METH_O,
     "Triton's native_specialize_impl with NumPy arrays and their like."},
    {"set_profile", core_set_profile, METH_VARARGS,
     "set_profile(sink, banks=32, bank_bytes=4): calls `sink` with the Counters of each launch from now on;\n"
     "None: no more. Returns the arguments that bring back what was set before."},
    {"set_checks", core_set_checks, METH_O, "The checks of all launches from now on, or None; returns the old ones."},
    {"set_numerics", core_set_numerics, METH_O,
     "The numerics of all launches from now on (\"denormals=keep,fmuladd=split\"), or None; returns the old ones."},
    {"numeric_choices", core_numeric_choices, METH_NOARGS, "What numerics there are, as rows of strings."},
    {"set_order", core_set_order, METH_VARARGS, "set_order(order, seed) of all launches; returns the old ones."},
    {"mark_empty", core_mark_empty, METH_VARARGS, "mark_empty(address, size or None): a buffer nobody has written."},
    {"current_device", core_zero, METH_NOARGS, "The number of the current device."},
    {"current_stream", core_zero, METH_O, "The current stream of a device."},
    {0},
};

static int add_type(PyObject *module, PyType_Spec *spec, PyTypeObject **out) {
    *out = (PyTypeObject *)PyType_FromModuleAndSpec(module, spec, NULL);
    return *out ? PyModule_AddType(module, *out) : -1;
}

static int add_names(core_state *st) {
    const struct { PyObject **slot; const char *str; } names[] = {
        {&st->s_data_ptr, "data_ptr"},
        {&st->s_untyped_storage, "untyped_storage"},
        {&st->s_nbytes, "nbytes"},
        {&st->s_is_cpu, "is_cpu"},
        {&st->s_device, "device"},
        {&st->s_base, "base"},
        {&st->s_dtype, "dtype"},
        {&st->s_array_struct, "__array_struct__"},
        {&st->s_array_interface, "__array_interface__"},
        {&st->s_dlpack, "__dlpack__"},
        {&st->s_dlpack_device, "__dlpack_device__"},
        {&st->s_shape, "shape"},
        {&st->s_strides, "strides"},
        {&st->s_padding, "padding"},
        {&st->s_round_f32_to_tf32, "round_f32_to_tf32"},
    };
    for (size_t i = 0; i < COUNT_OF(names); i++)
        if (!(*names[i].slot = PyUnicode_InternFromString(names[i].str)))
            return -1;
    return 0;
}

static int core_exec(PyObject *module) {
    core_state *st = core_get_state(module);
    if (add_names(st) != 0 || add_type(module, &artifact_spec, &st->artifact) != 0 ||
        add_type(module, &library_spec, &st->library) != 0 ||
        add_type(module, &kernel_spec, &st->kernel) != 0 ||
        add_type(module, &launcher_spec, &st->launcher) != 0 ||
        add_type(module, &counters_spec, &st->counters) != 0 ||
        add_type(module, &array_proxy_spec, &st->proxy) != 0)
        return -1;
    return 0;
}

static PyModuleDef_Slot core_slots[] = {{Py_mod_exec, (void *)core_exec}, {0, NULL}};
struct PyModuleDef core_module = {
    PyModuleDef_HEAD_INIT,
    .m_name = "triton_metal._core",
    .m_doc = "The C library: compile Triton IR, inspect metallibs, run them on the virtual GPU.",
    .m_size = sizeof(core_state),
    .m_methods = core_methods,
    .m_slots = core_slots,
};

__attribute__((visibility("default"))) PyMODINIT_FUNC PyInit__core(void);
PyMODINIT_FUNC PyInit__core(void) { return PyModuleDef_Init(&core_module); }
