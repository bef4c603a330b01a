/* SPDX-License-Identifier: MIT */
/* The one IR of the compiler, tile and thread level: operations with operands, results, attributes
 * and regions of blocks; interned types and attributes; use lists; edits in place. It is MLIR's
 * model made small, and its text is MLIR's text (parse.h, print.h).
 *
 * Ownership: everything lives in the module's arena and dies with ir_module_free. Erased ops stay in
 * memory but out of every list. Types and attributes are interned per module: compare by pointer.
 * Nothing here is thread-safe; a module belongs to one thread at a time. */
#pragma once
#include "base/arena.h"
#include "base/diag.h"
#include "layout/layout.h"

typedef struct ir_module ir_module;
typedef struct ir_type ir_type;
typedef struct ir_attr ir_attr;
typedef struct ir_op ir_op;
typedef struct ir_value ir_value;
typedef struct ir_use ir_use;
typedef struct ir_block ir_block;
typedef struct ir_region ir_region;
typedef struct ir_loc ir_loc;

/* ---- Types ------------------------------------------------------------------------------------ */

enum ir_type_kind {
    IR_INDEX,
    IR_INT,        /* iN, siN, uiN: width, sign */
    IR_FLOAT,      /* width and float_kind */
    IR_PTR,        /* !tt.ptr<elem[, space]>: elem, space */
    IR_TENSOR,     /* tensor<shape x elem[, encoding]> */
    IR_VECTOR,     /* vector<n x elem>, thread level */
    IR_MATRIX,     /* !tm.matrix<elem>: an 8x8 simdgroup matrix, thread level */
    IR_TENSORDESC, /* !tt.tensordesc<shape x elem> */
    IR_MEMDESC,    /* !ttg.memdesc<...>: shape, elem, encoding, and `text` for the rest */
    IR_FUNC,       /* (params) -> results, both in `list`; n_params says where results start */
    IR_OTHER,      /* any other dialect type, kept as text */
};

enum ir_float_kind { IR_F16, IR_BF16, IR_F32, IR_F64, IR_F8E5M2, IR_F8E4M3FN, IR_F8E5M2FNUZ,
                     IR_F8E4M3FNUZ, IR_F8E4M3B15 };

/* Metal's address spaces, also used in AIR. */
enum ir_space { IR_SPACE_THREAD = 0, IR_SPACE_DEVICE = 1, IR_SPACE_CONSTANT = 2,
                IR_SPACE_THREADGROUP = 3 };

struct ir_type {
    u8 kind;             /* enum ir_type_kind */
    u8 float_kind;       /* IR_FLOAT */
    u8 sign;             /* IR_INT: 0, 's', 'u' */
    u8 space;            /* IR_PTR: enum ir_space; upstream's default (text "1" elided) is DEVICE */
    u32 width;           /* IR_INT, IR_FLOAT: bits */
    u32 rank;            /* IR_TENSOR, IR_VECTOR (1), IR_TENSORDESC, IR_MEMDESC */
    u32 n_list, n_params;
    const i64 *shape;
    const ir_type *elem; /* pointee or element */
    const ir_attr *encoding; /* NULL or an attribute; IR_ATTR_LAYOUT after layout assignment */
    const ir_type *const *list;
    const char *text;
    u32 id;              /* dense number within the module */
};

const ir_type *ir_type_int(ir_module *m, u32 width); /* signless */
const ir_type *ir_type_int_sign(ir_module *m, u32 width, u8 sign);
const ir_type *ir_type_index(ir_module *m);
const ir_type *ir_type_float(ir_module *m, enum ir_float_kind kind);
const ir_type *ir_type_ptr(ir_module *m, const ir_type *elem, u32 space);
const ir_type *ir_type_tensor(ir_module *m, u32 rank, const i64 *shape, const ir_type *elem,
                              const ir_attr *encoding);
const ir_type *ir_type_vector(ir_module *m, i64 count, const ir_type *elem);
const ir_type *ir_type_matrix(ir_module *m, const ir_type *elem);
const ir_type *ir_type_tensordesc(ir_module *m, u32 rank, const i64 *shape, const ir_type *elem);
const ir_type *ir_type_func(ir_module *m, u32 n_params, const ir_type *const *params, u32 n_results,
                            const ir_type *const *results);
/* Interns any type given as a filled struct (id ignored). */
const ir_type *ir_type_intern(ir_module *m, const ir_type *t);
/* Same tensor with another element type / encoding; a scalar gives `elem` itself. */
const ir_type *ir_type_with_elem(ir_module *m, const ir_type *t, const ir_type *elem);
const ir_type *ir_type_with_encoding(ir_module *m, const ir_type *t, const ir_attr *encoding);

static inline bool ir_is_tensor(const ir_type *t) { return t->kind == IR_TENSOR; }
static inline const ir_type *ir_elem(const ir_type *t) { /* element of a tensor or vector, or t */
    return t->kind == IR_TENSOR || t->kind == IR_VECTOR ? t->elem : t;
}
static inline bool ir_is_int(const ir_type *t, u32 width) {
    return t->kind == IR_INT && t->width == width;
}
i64 ir_numel(const ir_type *t);     /* 1 for scalars */
u32 ir_type_bytes(const ir_type *t); /* in memory: i1 is 1, pointers 8, vectors count * elem */

/* ---- Attributes ------------------------------------------------------------------------------- */

enum ir_attr_kind {
    IR_ATTR_UNIT,
    IR_ATTR_INT,      /* type (IntegerType or index), i; booleans are i1 */
    IR_ATTR_FLOAT,    /* type, bits in i (the type's own encoding) */
    IR_ATTR_STRING,   /* text, len */
    IR_ATTR_SYMBOL,   /* @text */
    IR_ATTR_TYPE,     /* type */
    IR_ATTR_ARRAY,    /* list */
    IR_ATTR_INTS,     /* array<i32: 1, 0>: type = element, ints */
    IR_ATTR_DENSE,    /* dense<...> : type; ints = element bits, one when splat */
    IR_ATTR_DICT,     /* named */
    IR_ATTR_LAYOUT,   /* #ttg.linear<...>: layout */
    IR_ATTR_OTHER,    /* dialect attribute kept as text, "#tt.cache_policy<...>"; where attributes
                         with aliases stand inside, text has a byte 1 and `list` the attribute */
};

typedef struct ir_named_attr {
    const char *name; /* interned in the module */
    const ir_attr *value;
} ir_named_attr;

struct ir_attr {
    u8 kind;
    bool splat;           /* IR_ATTR_DENSE */
    const ir_type *type;
    i64 i;
    u32 count;            /* of list, ints, named, or bytes of text */
    const char *text;
    const ir_attr *const *list;
    const i64 *ints;
    const ir_named_attr *named;
    const layout *layout;
    u32 id;
};

const ir_attr *ir_attr_unit(ir_module *m);
const ir_attr *ir_attr_int(ir_module *m, const ir_type *type, i64 value);
const ir_attr *ir_attr_i32(ir_module *m, i64 value);
const ir_attr *ir_attr_bool(ir_module *m, bool value);
const ir_attr *ir_attr_float(ir_module *m, const ir_type *type, u64 bits);
const ir_attr *ir_attr_string(ir_module *m, const char *s, size_t len);
const ir_attr *ir_attr_symbol(ir_module *m, const char *s);
const ir_attr *ir_attr_type(ir_module *m, const ir_type *t);
const ir_attr *ir_attr_ints(ir_module *m, const ir_type *elem, u32 n, const i64 *ints);
/* A constant of a scalar or tensor type from one element's bits: INT, FLOAT or splat DENSE. */
const ir_attr *ir_attr_constant(ir_module *m, const ir_type *t, i64 bits);
const ir_attr *ir_attr_layout(ir_module *m, const layout *l);
const ir_attr *ir_attr_intern(ir_module *m, const ir_attr *a);
const char *ir_intern(ir_module *m, const char *s, size_t len);

/* ---- Operations ------------------------------------------------------------------------------- */

/* Codes, names, arity, traits and text forms come from ops.def (see its legend). */
enum ir_code {
#define IR_OP(code, ...) IR_##code,
#include "ir/ops.def"
#undef IR_OP
    IR_CODE_COUNT
};

enum ir_trait {
    IR_PURE = 1 << 0,        /* no side effects, result depends on operands only: CSE, DCE, hoist */
    IR_COMMUTES = 1 << 1,    /* the two operands may swap */
    IR_ELEMENTWISE = 1 << 2, /* result element i depends on operand elements i */
    IR_READS = 1 << 3,       /* reads memory */
    IR_WRITES = 1 << 4,      /* writes memory or has another effect: never removed */
    IR_TERMINATOR = 1 << 5,
    IR_CONVERGENT = 1 << 6,  /* all threads of the simdgroup (or threadgroup) must arrive together */
    IR_LOWERED = 1 << 7,     /* the compiler lowers it; without this trait it is refused by name */
    IR_THREAD = 1 << 8,      /* belongs to the thread level */
};

typedef struct ir_op_info {
    const char *name;  /* "arith.addi" */
    i8 ins, outs;      /* -1: any number */
    u8 regions;
    u8 format;         /* enum ir_format, ops.def */
    u16 traits;
    const char *doc;
} ir_op_info;
extern const ir_op_info ir_ops[IR_CODE_COUNT];

struct ir_use {        /* one operand slot, linked into its value's use list */
    ir_value *value;
    ir_op *owner;
    ir_use *next, **link;
};

struct ir_value {
    const ir_type *type;
    ir_use *uses;
    ir_op *op;           /* the defining op, or NULL for a block argument */
    ir_block *block;     /* the block of a block argument, else NULL */
    u32 index;           /* result or argument number */
    u32 mark;            /* scratch of the running pass; see ir_module_number */
    const char *name;    /* from the source text, or NULL */
    const ir_loc *loc;   /* block arguments only */
    const ir_named_attr *attrs; /* function arguments only: {tt.divisibility = 16 : i32} */
    u32 n_attrs;
};

typedef struct ir_succ {  /* a branch target with the operands it passes */
    ir_block *block;
    u32 first, count;     /* range within the op's operands */
} ir_succ;

struct ir_op {
    u16 code;
    u16 n_operands, n_results, n_regions, n_succs, n_attrs;
    u32 mark;
    ir_use *operands;
    ir_value *results;
    ir_region *regions;
    ir_succ *succs;
    ir_named_attr *attrs; /* sorted as given; properties and attributes together */
    const ir_loc *loc;
    ir_block *block;      /* NULL while detached */
    ir_op *prev, *next;
    const char *other_name; /* name of an op outside the table (IR_unknown) */
};

struct ir_block {
    ir_region *region;
    ir_op *first, *last;
    ir_block *prev, *next;
    ir_value **args;
    u32 n_args, args_room;
    u32 mark;
};

struct ir_region {
    ir_op *op;
    ir_block *first, *last;
};

/* Locations form a tree: file:line:col, "name"(child), callsite(callee at caller), fused, unknown. */
enum ir_loc_kind { IR_LOC_UNKNOWN, IR_LOC_FILE, IR_LOC_NAME, IR_LOC_CALL, IR_LOC_FUSED };
struct ir_loc {
    u8 kind;
    const char *name;    /* file or name */
    u32 line, column;
    const ir_loc *a, *b; /* name: child a; callsite: callee a, caller b */
    const ir_loc *const *list;
    u32 count;
    const char *alias;   /* "#loc12" or NULL, as read */
    const char *text;    /* fused metadata as text, or NULL */
    const char *first_name; /* of the first IR_LOC_NAME in the tree, outermost first, or NULL */
    u32 depth;           /* of the tree, 1 for a leaf */
    u32 id;
};
const ir_loc *ir_loc_unknown(ir_module *m);
const ir_loc *ir_loc_file(ir_module *m, const char *file, u32 line, u32 column);
const ir_loc *ir_loc_call(ir_module *m, const ir_loc *callee, const ir_loc *caller);
/* Where a user would look: innermost file position and its callers. */
src_loc ir_loc_source(ir_module *m, const ir_loc *loc);

struct ir_module {
    arena *arena;
    tm_ctx *ctx;
    ir_op *op;           /* the builtin.module op; its one block holds tt.func ops */
    struct ir_pools *pools; /* interning tables, core.c */
    void *aliases;       /* alias definitions as read, parse.c and print.c */
};

/* Creates an empty module. Diagnostics go to ctx, which must outlive it. */
ir_module *ir_module_new(tm_ctx *ctx);
void ir_module_free(ir_module *m);
static inline ir_block *ir_module_body(const ir_module *m) { return m->op->regions[0].first; }
ir_op *ir_module_func(const ir_module *m, const char *name); /* tt.func by sym_name, or NULL */
/* The public tt.func that is the kernel: the only public one, or NULL with a diagnostic. */
ir_op *ir_module_kernel(ir_module *m);

/* ---- Building and editing ---------------------------------------------------------------------- */

/* Where new ops go: before `at`, or at the end of `block` when at is NULL. */
typedef struct ir_builder {
    ir_module *m;
    ir_block *block;
    ir_op *at;
    const ir_loc *loc; /* given to new ops */
} ir_builder;

ir_builder ir_at_end(ir_module *m, ir_block *b);
ir_builder ir_before(ir_module *m, ir_op *op); /* also takes op's loc */
ir_builder ir_after(ir_module *m, ir_op *op);
/* After the definition of v: after its op, or at the head of its block. */
ir_builder ir_after_def(ir_module *m, ir_value *v);

/* The general constructor: operands and result types are copied; regions start without blocks. */
ir_op *ir_build(ir_builder *b, enum ir_code code, u32 n_operands, ir_value *const *operands,
                u32 n_results, const ir_type *const *results, u32 n_regions);
ir_value *ir_build1(ir_builder *b, enum ir_code code, const ir_type *result, u32 n_operands,
                    ir_value *const *operands); /* one result */
ir_value *ir_unary(ir_builder *b, enum ir_code code, const ir_type *result, ir_value *x);
ir_value *ir_binary(ir_builder *b, enum ir_code code, ir_value *x, ir_value *y); /* x's type */
ir_value *ir_const_int(ir_builder *b, const ir_type *t, i64 value);   /* scalar or splat */
ir_value *ir_const_float(ir_builder *b, const ir_type *t, double value);
ir_value *ir_compare(ir_builder *b, enum ir_code code, u32 predicate, ir_value *x, ir_value *y);

ir_block *ir_block_new(ir_module *m, ir_region *region); /* appended */
ir_value *ir_block_arg(ir_module *m, ir_block *b, const ir_type *t, const ir_loc *loc);
void ir_block_arg_erase(ir_block *b, u32 index); /* must have no uses */

static inline ir_value *ir_operand(const ir_op *op, u32 i) { return op->operands[i].value; }
static inline ir_value *ir_result(const ir_op *op, u32 i) { return &op->results[i]; }
void ir_set_operand(ir_op *op, u32 i, ir_value *v);
void ir_set_operands(ir_module *m, ir_op *op, u32 n, ir_value *const *values); /* replaces all */
void ir_replace_uses(ir_value *from, ir_value *to);
bool ir_has_uses(const ir_value *v);
bool ir_has_one_use(const ir_value *v);
void ir_erase(ir_op *op);   /* results must be unused; erases nested ops too */
void ir_remove(ir_op *op);  /* detaches, keeps operands */
void ir_insert(const ir_builder *b, ir_op *op); /* attaches a detached op */
void ir_move_before(ir_op *op, ir_op *where);
/* Moves all ops of `from` to the end of `to` (arguments stay behind). */
void ir_splice(ir_block *to, ir_block *from);
/* Copies op with nested regions; operands are mapped through `map` (ir_value* -> ir_value*, base/map)
 * where present; results and block arguments are added to it. */
struct map;
ir_op *ir_clone(ir_builder *b, const ir_op *op, struct map *map);

const ir_attr *ir_attr_get(const ir_op *op, const char *name); /* NULL when absent */
i64 ir_attr_get_int(const ir_op *op, const char *name, i64 otherwise);
void ir_attr_set(ir_module *m, ir_op *op, const char *name, const ir_attr *value);
void ir_attr_remove(ir_op *op, const char *name);

/* Walks op and everything nested in it, parents first; the callback may erase or replace the op it
 * gets (not its next sibling). */
typedef void ir_visit(ir_op *op, void *data);
void ir_walk(ir_op *op, ir_visit *visit, void *data);
ir_op *ir_parent(const ir_op *op);            /* the op whose region holds it, or NULL */
bool ir_is_inside(const ir_op *op, const ir_op *ancestor);
/* Numbers every value of a function densely in mark (arguments and results, in order); returns the
 * count. The side tables of passes are arrays indexed by it. */
u32 ir_number(ir_op *func);

#define IR_FOR_EACH_OP(block, op) for (ir_op *op = (block)->first; op; op = op->next)
#define IR_FOR_EACH_OP_SAFE(block, op)                                                             \
    for (ir_op *op = (block)->first, *op##_next = op ? op->next : NULL; op;                        \
         op = op##_next, op##_next = op ? op->next : NULL)

static inline bool ir_has_trait(const ir_op *op, u32 trait) {
    return (ir_ops[op->code].traits & trait) != 0;
}
/* The bits of a constant's element (scalar, or splat tensor): sign-extended for integers, the type's
 * own encoding for floats. False when v is not such a constant. */
bool ir_constant_bits(const ir_value *v, i64 *bits);

/* An error at an op: adds the op's text as a note. Returns -1. */
tm_status ir_error(ir_module *m, const ir_op *op, enum diag_code code, ...);
