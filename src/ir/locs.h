/* SPDX-License-Identifier: MIT */
/* Interning of any location given as a filled struct (id and alias are ignored). */
#pragma once
#include "ir/format.h"

const ir_loc *ir_loc_intern(ir_module *m, const ir_loc *l);
