/* SPDX-License-Identifier: MIT */
/* Text forms as data: a small language that the parser reads along and the printer writes out.
 * Everything stands for itself except
 *   $0..$9     that operand                 $*n   all operands from n on
 *   $< $>      first, second half of the operands after operand 0; they are i32, i64
 *   $A         the attribute dictionary without what the form names
 *   $t0..$t9   type of that operand         $r0   type of that result
 *   $T $R      types of all operands, results
 *   $F         (operand types) -> result types
 *   $p $d      bodies of pointer type of operand 0, of descriptor type of result 0
 *   $S         arith.select's types: the condition's only when it is a tensor
 *   $e{a}      attribute a as a word        $q{a}  as a string
 *   $f{a}      as words for the bits of attribute a: "local|global_read", "all", "none"
 *   $M         flags of arith and math: overflow<nsw>, fastmath<fast>, exact, nneg, a rounding mode
 *   $V         types of the operands from 1 on
 *   $y{a}      as a symbol                  $u{a}  nothing: a unit attribute that is present
 *   ?(...)     only if the first operand, attribute or type inside is there
 * `infer` gives the types that the text leaves out, three characters each: whose (operand digit, '*'
 * for all operands, 'r' for all results), how ('=' same as, 'm' i1 with the shape of, 'p' what it
 * points to, 'e' its element, 'b' i1, 'i' i32, 'l' i64), from which (operand digit or 'r'). */
#pragma once
#include "ir/format.h"

typedef struct ir_form {
    const char *text;
    const char *infer;
} ir_form;

/* NULL when the op has syntax in code. Never NULL for other formats than OWN and GENERIC. */
const ir_form *ir_form_of(enum ir_code code);

/* Words of an enumerated attribute by number: length of *word, 0 where the number has no word. */
u32 ir_word_of(const char *attr, u32 attr_len, enum ir_code code, i64 value, const char **word);
bool ir_word_value(const char *attr, u32 attr_len, enum ir_code code, const char *word, u32 len,
                   i64 *value);
const char *ir_words(const char *attr, u32 attr_len, enum ir_code code); /* "eq ne slt", for messages */
/* True when the attribute's value is the one that upstream leaves out of the text. */
bool ir_word_elided(const char *attr, u32 attr_len, i64 value);

/* Properties of ops in generic form: ",axis,reverse,", or "". */
const char *ir_generic_properties(enum ir_code code);
