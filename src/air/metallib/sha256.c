/* SPDX-License-Identifier: MIT */
/* SHA-256 from libmd, or CommonCrypto on macOS: the hash each metallib keeps of each function. */
#include "air/metallib/sha256.h"
#ifdef __APPLE__
#include <CommonCrypto/CommonDigest.h>

void air_sha256(const void *data, size_t len, u8 out[32]) {
    CC_SHA256_CTX ctx;
    CC_SHA256_Init(&ctx);
    for (const u8 *p = data; len;) {
        CC_LONG step = (CC_LONG)MIN(len, (size_t)1 << 30);
        CC_SHA256_Update(&ctx, p, step);
        p += step;
        len -= step;
    }
    CC_SHA256_Final(out, &ctx);
}
#else
#include <sys/types.h>
#include <sha2.h>

void air_sha256(const void *data, size_t len, u8 out[32]) {
    SHA2_CTX ctx;
    SHA256Init(&ctx);
    SHA256Update(&ctx, data, len);
    SHA256Final(out, &ctx);
}
#endif
