/* SPDX-License-Identifier: MIT */
/* Names of air.* functions that are known from Apple's kernels, for rules.c. */
#pragma once
#include "air/air.h"
enum air_known { AIR_NAME_KNOWN, AIR_NAME_UNKNOWN, AIR_TYPE_UNKNOWN };
enum air_known air_intrinsic_known(const air_func *f);
