/* SPDX-License-Identifier: MIT */
/* The AIR module: LLVM 14 shaped, typed pointers, as Apple's metallibs hold it. One type serves
 * writing (emit, bitcode writer), reading (bitcode reader), checking (rules), printing (.ll text) and
 * execution (vgpu). Invariant: read(write(m)) == m (air_equal), for our modules and for Apple's.
 *
 * Ownership: everything lives in the module's arena. Types and constants are interned per module.
 * Values are numbered by the writer, printer and reader as LLVM does; nothing here stores an order
 * beyond the lists below. */
#pragma once
#include "base/arena.h"
#include "base/diag.h"
#include "base/map.h"
#include "base/vec.h"

typedef struct air_type air_type;
typedef struct air_value air_value;
typedef struct air_inst air_inst;
typedef struct air_block air_block;
typedef struct air_func air_func;
typedef struct air_global air_global;
typedef struct air_md air_md;
typedef struct air_module air_module;

/* ---- Types ------------------------------------------------------------------------------------ */
enum air_type_kind { AIR_VOID, AIR_LABEL, AIR_METADATA, AIR_INT, AIR_HALF, AIR_BFLOAT, AIR_FLOAT,
                     AIR_DOUBLE, AIR_PTR, AIR_ARRAY, AIR_VECTOR, AIR_STRUCT, AIR_OPAQUE, AIR_FUNC };
struct air_type {
    u8 kind;
    bool packed;          /* struct */
    bool vararg;          /* func */
    u32 bits;             /* int */
    u32 space;            /* ptr */
    u64 count;            /* array, vector */
    air_type *elem;       /* ptr, array, vector; func: the return type */
    air_type **fields;    /* struct; func: the parameters */
    u32 n_fields;
    const char *name;     /* named struct or opaque, else NULL; named structs are not merged */
    u32 id;               /* position in module->types */
    u32 depth, weight;    /* nesting and nodes when spelled out; a named struct counts as one */
    u32 value_depth;      /* nesting by value; 0 while the layout is not known */
    u64 size, align;      /* see air_size, air_align */
    u64 *offsets;         /* struct: of its fields, once the layout is known */
};
air_type *air_type_simple(air_module *m, enum air_type_kind kind); /* void label metadata floats */
air_type *air_type_int(air_module *m, u32 bits);
air_type *air_type_ptr(air_module *m, air_type *elem, u32 space);
air_type *air_type_array(air_module *m, air_type *elem, u64 count);
air_type *air_type_vector(air_module *m, air_type *elem, u64 count);
air_type *air_type_struct(air_module *m, u32 n, air_type *const *fields, bool packed,
                          const char *name); /* name != NULL always makes a new type */
air_type *air_type_opaque(air_module *m, const char *name); /* always a new type */
air_type *air_type_func(air_module *m, air_type *result, u32 n, air_type *const *params,
                        bool vararg);
/* Bytes in memory, alignment, and field offsets under AIR's data layout (format.md 2.4). */
u64 air_size(const air_type *t);
u64 air_align(const air_type *t);
u64 air_field_offset(const air_type *t, u32 field);

/* ---- Values ----------------------------------------------------------------------------------- */
enum air_value_kind { AIR_V_CONST, AIR_V_GLOBAL, AIR_V_FUNC, AIR_V_ARG, AIR_V_INST, AIR_V_MD };
struct air_value {        /* first member of everything an operand can be */
    u8 kind;
    air_type *type;       /* globals and functions: the pointer type */
    u32 id;               /* scratch number of the running reader, writer, printer or decoder */
    const char *name;     /* globals and functions; NULL otherwise */
};

enum air_const_kind { AIR_C_NULL, AIR_C_UNDEF, AIR_C_POISON, AIR_C_INT, AIR_C_FLOAT,
                      AIR_C_AGGREGATE, /* elems */
                      AIR_C_DATA,      /* array or vector of ints or floats: raw little-endian bytes */
                      AIR_C_CAST,      /* op = enum air_cast, elems[0] */
                      AIR_C_GEP };     /* elems = base and indices, aux = source type, inbounds */
typedef struct air_const {
    air_value v;
    u8 kind, op;
    bool inbounds;
    bool cstring;         /* DATA read from or to be written as STRING/CSTRING */
    u32 n_elems;
    u32 depth, weight;    /* nesting and nodes of the constant spelled out */
    u32 inrange;          /* GEP: index + 1 marked inrange, 0 none */
    u64 wide;             /* INT beyond 64 bits is refused; INT value (zero-extended) or FLOAT bits */
    air_type *aux;
    air_value **elems;
    const u8 *data;
    u64 data_len;
} air_const;

air_value *air_const_int(air_module *m, air_type *t, u64 value);
air_value *air_const_float(air_module *m, air_type *t, u64 bits); /* half bfloat float double */
air_value *air_const_null(air_module *m, air_type *t);
air_value *air_const_undef(air_module *m, air_type *t);
air_value *air_const_poison(air_module *m, air_type *t);
air_value *air_const_aggregate(air_module *m, air_type *t, u32 n, air_value *const *elems);
air_value *air_const_data(air_module *m, air_type *t, const void *bytes, u64 len, bool cstring);
air_value *air_const_cast(air_module *m, u32 op, air_value *v, air_type *to);
air_value *air_const_gep(air_module *m, air_type *source, bool inbounds, u32 n,
                         air_value *const *base_and_indices, air_type *result);
air_value *air_const_gep_inrange(air_module *m, air_type *source, bool inbounds, u32 n,
                                 air_value *const *base_and_indices, air_type *result, u32 inrange);

struct air_global {
    air_value v;
    air_type *value_type;
    u32 space, linkage, visibility, tls, unnamed_addr, dll, section; /* section: 1-based, 0 none */
    u32 align;            /* bytes, 0 none */
    bool constant, ext_init, dso_local;
    u32 attrs;            /* attribute list number, 0 none */
    air_value *init;      /* NULL: declaration */
};

/* LLVM's numbers, as in bitcode. */
enum air_linkage { AIR_EXTERNAL = 0, AIR_APPENDING = 2, AIR_INTERNAL = 3, AIR_PRIVATE = 9,
                   AIR_WEAK_ODR = 17 };

struct air_func {
    air_value v;
    air_module *module;
    air_type *func_type;
    u32 cc, linkage, align, section, visibility, gc, unnamed_addr, dll; /* cc 8 = fastcc */
    bool dso_local;
    u32 attrs;            /* attribute list number, 0 none */
    u32 n_args;
    air_value *args;      /* AIR_V_ARG */
    air_block *first, *last; /* NULL: declaration */
    u32 n_blocks;
};

struct air_block {
    air_func *func;
    air_block *prev, *next;
    air_inst *first, *last;
    u32 id;
    const char *name;     /* NULL nearly always */
};

/* ---- Instructions ------------------------------------------------------------------------------ */
enum air_op {
    AIR_BINOP,     /* sub = air_binop; ops a b; flags nuw nsw exact or fmf */
    AIR_FNEG,      /* ops a */
    AIR_CAST,      /* sub = air_cast; ops a; v.type = destination */
    AIR_CMP,       /* sub = predicate: fcmp 0..15, icmp 32..41; ops a b */
    AIR_SELECT,    /* ops cond a b (cond i1 or vector of i1) */
    AIR_EXTRACTELT,/* ops vector index */
    AIR_INSERTELT, /* ops vector element index */
    AIR_SHUFFLE,   /* ops a b mask (a constant vector of i32) */
    AIR_EXTRACTVAL,/* ops aggregate; indices */
    AIR_INSERTVAL, /* ops aggregate element; indices */
    AIR_GEP,       /* ops base indices...; aux = source element type; inbounds */
    AIR_LOAD,      /* ops pointer; align; volatile */
    AIR_STORE,     /* ops pointer value; align; volatile */
    AIR_ALLOCA,    /* ops count; aux = allocated type; align */
    AIR_CALL,      /* ops callee args...; aux = function type; cc, tail, attrs, fmf */
    AIR_PHI,       /* ops values; blocks = incoming blocks */
    AIR_FREEZE,    /* ops a */
    AIR_BR,        /* blocks: target; or ops cond, blocks true false */
    AIR_SWITCH,    /* ops value case-constants...; blocks: default, one per case */
    AIR_RET,       /* ops none or value */
    AIR_UNREACHABLE,
    AIR_OP_COUNT
};
enum air_binop { AIR_ADD, AIR_SUB, AIR_MUL, AIR_UDIV, AIR_SDIV, AIR_UREM, AIR_SREM, AIR_SHL,
                 AIR_LSHR, AIR_ASHR, AIR_AND, AIR_OR, AIR_XOR }; /* LLVM's; float ops reuse 0-6:
                 fadd = ADD, fsub = SUB, fmul = MUL, fdiv = SDIV, frem = SREM by operand type */
enum air_cast { AIR_TRUNC, AIR_ZEXT, AIR_SEXT, AIR_FPTOUI, AIR_FPTOSI, AIR_UITOFP, AIR_SITOFP,
                AIR_FPTRUNC, AIR_FPEXT, AIR_PTRTOINT, AIR_INTTOPTR, AIR_BITCAST,
                AIR_ADDRSPACECAST };
enum air_inst_flags { AIR_NUW = 1, AIR_NSW = 2, AIR_EXACT = 1, /* binop: raw LLVM flag bits */
                      AIR_INBOUNDS = 1 << 8, AIR_VOLATILE = 1 << 9, AIR_TAIL = 1 << 10,
                      AIR_MUSTTAIL = 1 << 11, AIR_NOTAIL = 1 << 12, AIR_INALLOCA = 1 << 13,
                      AIR_SWIFTERROR = 1 << 14, AIR_HAS_FMF = 1 << 15 };

typedef struct air_attach { u32 kind; air_md *node; } air_attach; /* kind: index of md_kinds */

struct air_inst {
    air_value v;          /* type void when it defines nothing */
    u8 op, sub;
    u16 flags;
    u32 fmf;              /* fast-math bits as in bitcode */
    u32 align;            /* bytes, 0 none */
    u32 cc, attrs;        /* call */
    air_type *aux;
    u32 n_ops, n_blocks, n_indices, n_attach;
    air_value **ops;
    air_block **blocks;
    u32 *indices;
    air_attach *attach;
    air_block *block;
    air_inst *prev, *next;
    const src_loc *loc;   /* the Python line, when our compiler emitted it; not part of equality */
};

/* ---- Metadata, attributes ---------------------------------------------------------------------- */
enum air_md_kind { AIR_MD_STRING, AIR_MD_VALUE, AIR_MD_NODE };
struct air_md {
    u8 kind;
    bool distinct;
    u32 n;                /* node: operands; string: bytes */
    const char *text;
    air_value *value;
    air_md **ops;         /* NULL entries allowed */
    air_func *local;      /* the function whose block holds it, NULL for module level */
    u32 id;
};
typedef struct air_named_md {
    const char *name;
    u32 n;
    air_md **ops;
} air_named_md;
air_md *air_md_string(air_module *m, const char *s);       /* merged */
air_md *air_md_value(air_module *m, air_value *v);         /* merged */
air_md *air_md_i32(air_module *m, u32 value);
air_md *air_md_node(air_module *m, u32 n, air_md *const *ops); /* merged */
air_md *air_md_distinct(air_module *m, u32 n, air_md *const *ops); /* never merged; ops may be patched */
void air_named_md_add(air_module *m, const char *name, air_md *node);

/* Attribute groups as in PARAMATTR_GROUP: slot 0 return, 1.. parameters, 0xFFFFFFFF function. */
enum air_attr_form { AIR_ATTR_ENUM = 0, AIR_ATTR_INT = 1, AIR_ATTR_KEY = 3, AIR_ATTR_KEY_VALUE = 4,
                     AIR_ATTR_TYPE = 5, AIR_ATTR_TYPE_VALUE = 6 };
typedef struct air_attr {
    u8 form;
    u32 kind;             /* LLVM's attribute number: nocapture 11, nounwind 18, ... */
    u64 value;
    const char *key, *text;
    air_type *type;
} air_attr;
typedef struct air_attr_group {
    u32 id, slot;
    u32 n;
    air_attr *at;
} air_attr_group;
typedef struct air_attr_list {
    u32 n;
    u32 *groups;          /* positions in module->attr_groups */
} air_attr_list;

struct air_module {
    arena *arena;
    tm_ctx *ctx;
    const char *source_name, *triple, *datalayout, *identification; /* "" from Apple */
    const char *module_asm;
    u64 epoch;
    VEC(air_type *) types;
    VEC(air_global *) globals;
    VEC(air_func *) funcs;
    VEC(const char *) sections;
    VEC(air_attr_group) attr_groups;
    VEC(air_attr_list) attr_lists; /* number n in the IR is attr_lists[n - 1] */
    VEC(const char *) md_kinds;    /* index = kind number; LLVM's fixed ones first */
    VEC(air_md *) mds;             /* module level, in file order */
    VEC(air_named_md) named;
    VEC(const char *) bundle_tags, sync_scopes;
    struct air_pools *pools;       /* interning */
};

air_module *air_module_new(tm_ctx *ctx, const char *source_name);
void air_module_free(air_module *m);
air_func *air_func_new(air_module *m, const char *name, air_type *type); /* appended; no blocks */
air_global *air_global_new(air_module *m, const char *name, air_type *value_type, u32 space);
air_func *air_func_find(const air_module *m, const char *name);
air_block *air_block_new(air_func *f); /* appended */
/* Appends an instruction; ops are copied. */
air_inst *air_inst_new(air_module *m, air_block *b, enum air_op op, air_type *type, u32 n_ops,
                       air_value *const *ops);
bool air_equal(const air_module *a, const air_module *b, text *why); /* why may be NULL */

/* ---- Files of this room ------------------------------------------------------------------------ */
/* bitcode: raw or wrapped (0x0B17C0DE). The writer makes the wrapped form, padded to 16 bytes. */
tm_status air_write_bitcode(const air_module *m, text *out);
air_module *air_read_bitcode(tm_ctx *ctx, const u8 *data, size_t len); /* NULL with a 40xx */
void air_print(text *out, const air_module *m); /* LLVM 14 assembly; llvm-as-14 takes it */
/* Types, dominance, operand kinds, terminators: what an executor or writer relies on. */
tm_status air_verify(air_module *m);
/* What Apple's compiler emits and never emits; see rules.def. 0, or -1 with 42xx. */
tm_status air_check_rules(air_module *m, u32 air_minor);

/* What !air.kernel says of one argument. */
enum air_arg_kind { AIR_ARG_BUFFER, AIR_ARG_INDIRECT_BUFFER, AIR_ARG_SYSTEM, AIR_ARG_TEXTURE,
                    AIR_ARG_SAMPLER, AIR_ARG_OTHER };
typedef struct air_arg {
    u8 kind;
    bool writes, unused;   /* air.read_write; air.arg_unused */
    u32 param;             /* LLVM parameter number */
    u32 location;          /* buffer or threadgroup index */
    u32 space;             /* 1 device, 2 constant, 3 threadgroup */
    u32 size;              /* air.buffer_size, 0 when unbounded */
    u32 type_size, type_align;
    const char *name, *type_name; /* NULL when absent */
    const char *system;    /* "thread_position_in_grid", for AIR_ARG_SYSTEM */
    const char *gate;      /* function constant that gates it, or NULL */
} air_arg;
typedef struct air_constant {  /* a function constant */
    const char *name;
    u32 index;
    const char *type_name;     /* "bool", "int", "uint", ... */
    air_global *global;        /* the MTL_FC_INIT global */
} air_constant;
typedef struct air_kernel {
    air_func *func;
    const char *name;
    u32 n_args, n_constants;
    air_arg *args;
    air_constant *constants;
    u32 max_threads;           /* air.max_work_group_size, 0 none */
    u32 air_major, air_minor, lang_major, lang_minor;
} air_kernel;
/* Reads !air.kernel and its company. -1 with a diagnostic when it is missing or malformed. */
tm_status air_kernel_read(air_module *m, air_kernel *out);
