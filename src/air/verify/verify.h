/* SPDX-License-Identifier: MIT */
/* State of the verifier, between verify.c and inst.c. */
#pragma once
#include "air/flow.h"
#include "air/pools.h"

typedef struct air_verifier {
    air_module *m;
    arena *scratch;
    const air_func *func;
    const air_inst *at; /* for the message */
} air_verifier;
tm_status verify_fail(air_verifier *v, const char *what);
/* Number and types of operands, the result's type. Operands are known to be there. */
tm_status verify_inst(air_verifier *v, const air_inst *i);
