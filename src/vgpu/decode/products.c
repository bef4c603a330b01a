/* SPDX-License-Identifier: MIT */
/* Products of matrices in runs: loads of matrices that stand between products go before them, a few at a time, so
 * that the products follow each other (encode.c writes a run after one header, exec does several at once). A product
 * touches no memory, and a load reads no matrix. */
#include "vgpu/decode/build.h"

enum { MOST_MOVED = 8 }; /* each holds a register until its product comes */

static void unlink_inst(vblock *k, vinst *i) {
    *(i->prev ? &i->prev->next : &k->first) = i->next;
    *(i->next ? &i->next->prev : &k->last) = i->prev;
}
static void put_before(vblock *k, vinst *i, vinst *at) {
    i->prev = at->prev;
    i->next = at;
    *(at->prev ? &at->prev->next : &k->first) = i;
    at->prev = i;
}
void gather_products(vbuild *b) {
    for (u32 n = 0; n < b->order.count; n++) {
        vblock *k = b->blocks.at[b->order.at[n]];
        vinst *run = NULL; /* its first product */
        u32 moved = 0;
        for (vinst *i = k->first, *next; i; i = next) {
            next = i->next;
            if (i->op == VOP_xmma) {
                run = run ? run : i;
            } else if (i->op == VOP_xload && run && moved < MOST_MOVED) {
                unlink_inst(k, i);
                put_before(k, i, run);
                moved++;
            } else {
                run = NULL;
                moved = 0;
            }
        }
    }
}
