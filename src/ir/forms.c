/* SPDX-License-Identifier: MIT */
/* The table of text forms, and the words of enumerated attributes. See forms.h for the language. */
#include "ir/forms.h"

/* By format; rows below come first. */
static const ir_form by_format[] = {
    [IR_FORMAT_BINARY] = {"$0, $1$M$A : $r0", "0=r1=r"},
    [IR_FORMAT_UNARY] = {"$0$M$A : $r0", "0=r"},
    [IR_FORMAT_CAST] = {"$0$M$A : $t0 to $r0", ""},
    [IR_FORMAT_TTCAST] = {"$0$A : $t0 -> $r0", ""},
    [IR_FORMAT_COMPARE] = {"$e{predicate}, $0, $1$M$A : $t0", "1=0rm0"},
    [IR_FORMAT_FUNC] = {"$*0$A : $F", ""},
    [IR_FORMAT_NONE] = {"$A", ""},
    [IR_FORMAT_ITEM] = {"$A?( $*0 : $T)", ""},
};

/* clang-format off */
static const ir_form by_code[IR_CODE_COUNT] = {
    [IR_builtin_unrealized_cast] = {"$*0 : $T to $R$A", ""},
    [IR_ub_poison] = {"$A : $r0", ""},
    [IR_llvm_assume] = {"$0$A : $t0", ""},
    [IR_arith_select] = {"$0, $1, $2$A : $S", "1=r2=r"},
    [IR_arith_mulsi_extended] = {"$0, $1$A : $r0", "0=r1=rr=r"},
    [IR_arith_mului_extended] = {"$0, $1$A : $r0", "0=r1=rr=r"},
    [IR_math_fma] = {"$0, $1, $2$M$A : $r0", "0=r1=r2=r"},
    [IR_scf_condition] = {"($0)$A?( $*1 : $V)", "0b0"},
    [IR_tt_call] = {"$y{callee}($*0)$A : $F", ""},
    [IR_tt_get_program_id] = {"$e{axis}$A : $r0", ""},
    [IR_tt_get_num_programs] = {"$e{axis}$A : $r0", ""},
    [IR_tt_make_range] = {"$A : $r0", ""},
    [IR_tt_reshape] = {"$0?( allow_reorder$u{allow_reorder})?( efficient_layout$u{efficient_layout})"
                       "$A : $t0 -> $r0", ""},
    [IR_tt_unsplat] = {"$0$A : $t0", "re0"},
    [IR_tt_join] = {"$0, $1$A : $t0 -> $r0", "1=0"},
    [IR_tt_cat] = {"$0, $1$A : $t0 -> $r0", "1=0"},
    [IR_tt_split] = {"$0$A : $t0 -> $r0", "r=r"},
    [IR_tt_addptr] = {"$0, $1$A : $r0, $t1", "0=r"},
    [IR_tt_fp_to_fp] = {"$0$A?(, rounding = $e{rounding}) : $t0 -> $r0", ""},
    [IR_tt_clampf] = {"$0, $1, $2, propagateNan = $e{propagateNan}$A : $r0", "0=r1=r2=r"},
    [IR_tt_extern_elementwise] = {"$*0$A : $F", ""},
    [IR_tt_elementwise_inline_asm] = {"$q{asm_string}$A?( $*0 : $T) -> $R", ""},
    [IR_tt_load] = {"$0?(, $1)?(, $2)$A : $t0", "1m02p0rp0"},
    [IR_tt_store] = {"$0, $1?(, $2)$A : $t0", "1p02m0"},
    [IR_tt_atomic_rmw] = {"$e{atomic_rmw_op}, $e{sem}, $e{scope}, $*0$A : $F", ""},
    [IR_tt_atomic_cas] = {"$e{sem}, $e{scope}, $*0$A : $F", ""},
    [IR_tt_atomic_load] = {"$e{sem}, $e{scope}, $*0$A : $F", ""},
    [IR_tt_atomic_store] = {"$e{sem}, $e{scope}, $0, $1?(, $2)$A : $t0", "1p02m0"},
    [IR_tt_atomic_poll] = {"$e{sem}, $e{scope}, $0, $1?( timeout $2)$A : $t0, $t1 -> $r0", "2l0"},
    [IR_tt_make_tensor_descriptor] = {"$0, [$<], [$>]$A : $p, $d", ""},
    [IR_tt_descriptor_load] = {"$0[$*1]$A : $t0 -> $r0", "*i0"},
    [IR_tt_descriptor_store] = {"$0[$*2], $1$A : $t0, $t1", "*i0"},
    [IR_tt_descriptor_reduce] = {"$e{kind}, $0[$*2], $1$A : $t0, $t1", "*i0"},
    [IR_tt_descriptor_gather] = {"$0[$1, $2]$A : $F", ""},
    [IR_tt_descriptor_scatter] = {"$0[$1, $2], $3$A : $T", ""},
    [IR_tt_dot] = {"$0, $1, $2?(, inputPrecision = $e{inputPrecision})$A : $t0 * $t1 -> $r0", "2=r"},
    [IR_tt_dot_scaled] = {"$0?( scale $3), $1?( scale $4), $2 lhs = $e{a_elem_type} "
                          "rhs = $e{b_elem_type}$A : $t0?(, $t3) * $t1?(, $t4) -> $r0", "2=r"},
    [IR_tt_gather] = {"$0[$1]$A : $F", ""},
    [IR_tt_histogram] = {"$0?(, $1)$A : $t0 -> $r0", "1m0"},
    [IR_tt_assert] = {"$0, $q{message}$A : $t0", ""},
    [IR_tt_print] = {"$q{prefix}$A?( : $*0 : $T)", ""},
    [IR_ttg_barrier] = {"$f{addrSpace}", ""},
};
/* clang-format on */

const ir_form *ir_form_of(enum ir_code code) {
    if (by_code[code].text)
        return &by_code[code];
    const ir_form *form = &by_format[ir_ops[code].format % COUNT_OF(by_format)];
    return ir_ops[code].format < IR_FORMAT_OWN && form->text ? form : NULL;
}

const char *ir_generic_properties(enum ir_code code) {
    switch (code) {
    case IR_tt_reduce: return ",axis,";
    case IR_tt_scan: return ",axis,reverse,";
    case IR_tt_map_elementwise: return ",pack,";
    default: return "";
    }
}

/* ---- Words ---------------------------------------------------------------------------------------- */

typedef struct word_list {
    const char *attr;
    u16 code;         /* of the only op it is for, or IR_CODE_COUNT */
    i8 first;         /* number of the first word */
    i8 elided;        /* number that the text leaves out, or -1 */
    const char *words; /* separated by spaces */
} word_list;

static const word_list lists[] = {
    {"predicate", IR_arith_cmpi, 0, -1, "eq ne slt sle sgt sge ult ule ugt uge"},
    {"predicate", IR_arith_cmpf, 0, -1,
     "false oeq ogt oge olt ole one ord ueq ugt uge ult ule une uno true"},
    {"axis", IR_CODE_COUNT, 0, -1, "x y z"},
    {"roundingmode", IR_CODE_COUNT, 0, -1,
     "to_nearest_even downward upward toward_zero to_nearest_away"},
    {"rounding", IR_CODE_COUNT, 0, -1, "rtz rtne"},
    {"inputPrecision", IR_CODE_COUNT, 0, 2, "tf32 tf32x3 ieee bf16x3 bf16x6"},
    {"atomic_rmw_op", IR_CODE_COUNT, 1, -1, "and or xor add fadd max min umax umin exch"},
    {"sem", IR_CODE_COUNT, 1, -1, "relaxed acquire release acq_rel"},
    {"scope", IR_CODE_COUNT, 1, -1, "gpu cta sys"},
    {"kind", IR_CODE_COUNT, 1, -1, "add min max inc dec and or xor"},
    {"a_elem_type", IR_CODE_COUNT, 0, -1, "e4m3 e5m2 e2m3 e3m2 e2m1 bf16 fp16"},
    {"b_elem_type", IR_CODE_COUNT, 0, -1, "e4m3 e5m2 e2m3 e3m2 e2m1 bf16 fp16"},
    {"addrSpace", IR_CODE_COUNT, 0, -1, "local global_read global_write tensor_read tensor_write"},
};

static const word_list *find_list(const char *attr, u32 len, enum ir_code code) {
    for (u32 i = 0; i < COUNT_OF(lists); i++)
        if (strncmp(lists[i].attr, attr, len) == 0 && !lists[i].attr[len] &&
            (lists[i].code == code || lists[i].code == IR_CODE_COUNT))
            return &lists[i];
    return NULL;
}

bool ir_word_value(const char *attr, u32 attr_len, enum ir_code code, const char *word, u32 len,
                   i64 *value) {
    if (attr_len == 12 && memcmp(attr, "propagateNan", 12) == 0) { /* not dense */
        *value = len == 3 ? 0xFFFF : 0;
        return (len == 3 && memcmp(word, "all", 3) == 0) ||
               (len == 4 && memcmp(word, "none", 4) == 0);
    }
    const word_list *list = find_list(attr, attr_len, code);
    if (!list)
        return false;
    i64 number = list->first;
    for (const char *p = list->words; *p; number++) {
        size_t n = strcspn(p, " ");
        if (n == len && memcmp(p, word, n) == 0) {
            *value = number;
            return true;
        }
        p += n + (p[n] == ' ');
    }
    return false;
}

u32 ir_word_of(const char *attr, u32 attr_len, enum ir_code code, i64 value, const char **word) {
    if (attr_len == 12 && memcmp(attr, "propagateNan", 12) == 0) {
        *word = value == 0xFFFF ? "all" : "none";
        return value == 0xFFFF ? 3 : value == 0 ? 4 : 0;
    }
    const word_list *list = find_list(attr, attr_len, code);
    if (!list || value < list->first)
        return 0;
    const char *p = list->words;
    for (i64 skip = value - list->first; skip > 0 && *p; skip--) {
        size_t n = strcspn(p, " ");
        p += n + (p[n] == ' ');
    }
    *word = p;
    return (u32)strcspn(p, " ");
}

const char *ir_words(const char *attr, u32 attr_len, enum ir_code code) {
    const word_list *list = find_list(attr, attr_len, code);
    return list ? list->words : "none all";
}

bool ir_word_elided(const char *attr, u32 attr_len, i64 value) {
    const word_list *list = find_list(attr, attr_len, IR_CODE_COUNT);
    return list && list->elided >= 0 && value == list->elided;
}
