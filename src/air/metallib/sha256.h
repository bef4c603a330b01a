/* SPDX-License-Identifier: MIT */
/* SHA-256 of the platform's library. */
#pragma once
#include "base/base.h"
void air_sha256(const void *data, size_t len, u8 out[32]);
