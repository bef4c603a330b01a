/* SPDX-License-Identifier: MIT */
/* The checks of the virtual GPU. A check is an instruction of its own, put by the encoder before the
 * instruction it guards, whose registers it reads; without checks none is put, so that they cost nothing.
 * Its handler calls one of the functions here with the active lanes. What they find is collected, one
 * record per place and kind; the launch goes on and fails at its end. A launch with checks uses one host
 * thread: its reports are the same every time.
 * check.c: accesses and records. shadow.c: who touched what; region.c: in which memory; message.c: what orders
 * threadgroups. value.c: operands, shuffles. spin.c: loops that change nothing. report.c: words. order.c: who comes
 * first. again.c: runs that must give the same, of kernels that twins.c makes. */
#pragma once
#include "vgpu/check/shadow.h"
#include "vgpu/code.h"

/* What a check instruction looks for; x of its word. */
enum vguard { GUARD_ACCESS, GUARD_MATRIX, GUARD_BARRIER, GUARD_FENCE, /* of the next instruction */
              GUARD_SHIFT, GUARD_DIVIDE, GUARD_CONVERT, GUARD_SHUFFLE /* of registers a and b */ };
#define GUARD_SIGNED (1 << 8) /* imm: bits of the integer | GUARD_SIGNED | */
#define GUARD_DOUBLE (1 << 9) /* the registers hold 64-bit values */
#define GUARD_WRAPS (1 << 10) /* SHUFFLE: the lane number counts modulo 32 */

enum vrecord_kind { FOUND_MISALIGNED, FOUND_RACE, FOUND_LANES, FOUND_UNWRITTEN, FOUND_MATRIX_LANES,
                    FOUND_BARRIER_ENDED, FOUND_SHIFT, FOUND_DIVIDE, FOUND_OVERFLOW, FOUND_CONVERT,
                    FOUND_SHUFFLE };
enum vact { ACT_LOAD, ACT_STORE, ACT_ATOMIC };

/* Who did something: one simdgroup of one threadgroup at one place of the kernel. */
typedef struct vwho { u32 group, simd, site; u8 act; } vwho;
typedef struct vrecord {
    u8 kind, act;
    u32 site, lanes, simd, size, align;
    u64 group, address, value;
    vwho other;
    u32 count;
} vrecord;

enum { MAX_RECORDS = 20, MOST_READS = 1024, SEVERAL_SIMDS = 63 /* of a vwho */ };

/* Shadow of some device memory. */
typedef struct vpage {
    struct vpage *next;
    vmap map;
    vcell block[PAGE_BLOCKS];
    u8 split[PAGE_BLOCKS];
} vpage;
typedef struct vread { u64 address, me, size; i64 stride; u32 site, rows; } vread;
typedef struct vregion { /* host memory that something may be written to */
    uintptr_t from, to;
    vpage **pages;
    u32 n_pages;
} vregion;

/* An address that atomics passed a message through, and what has been released there. */
typedef struct vsent { u32 group, clock; } vsent;
typedef struct vsync {
    uintptr_t at;
    vsent *sent;
    u32 n, room;
    u32 heard, heard_by;    /* what the threadgroup heard_by - 1 knows already */
} vsync;

/* A loop is watched; how often memory was changed since. */
typedef struct vwatch { bool on; u64 changes; } vwatch;

typedef struct vcheck {
    const vgpu_kernel *k;
    const vseg *segs;
    bool races, uninit;     /* of k->checks */
    u32 granule;            /* log2 of the bytes that one shadow word stands for */
    u64 group;              /* running */
    u32 epoch, clock;       /* barriers passed and releases made by this threadgroup */
    u32 released;           /* clocks that its last release fence has let go; 0 none */
    uintptr_t unheard[16];  /* relaxed atomics since its last acquire fence */
    u32 n_unheard;
    vrecord records[MAX_RECORDS];
    u32 n_records, n_dropped;
    /* threadgroup memory */
    vmap tg;
    u8 *tg_written;         /* by block: one bit per granule that this threadgroup has written */
    u64 tg_wrote;           /* tg_when of the last write */
    vread reads[MOST_READS];/* loads in an epoch that nothing was written in yet */
    u32 n_reads;
    u64 tg_when;            /* barriers passed and threadgroups begun, since the worker's first launch */
    /* device memory */
    u32 launch;
    vregion *regions;
    u32 n_regions;
    vpage *spare, *used;
    u8 *tracked;            /* by segment */
    u8 **written;           /* by segment: one byte per byte, for buffers that start empty */
    uintptr_t last_from, last_to; /* the page found last, as far as it lies in its region */
    vpage *last_page;
    /* messages through atomics */
    vsync *syncs;           /* open hash table */
    u32 n_syncs, sync_room;
    u32 *known;             /* by threadgroup: clock up to which its accesses come before ours */
    u32 *known_by;
    u64 n_known;
    /* loops */
    vwatch *watch;          /* the launch's */
    bool looks;             /* something beside loops is looked for */
} vcheck;

vcheck *vcheck_new(const vgpu_kernel *k);
void vcheck_free(vcheck *v);
/* A launch begins; segs are the worker's, with host addresses. False when out of memory. */
bool vcheck_begin(vcheck *v, const vseg *segs, const tm_launch_params *p, u64 groups);
void vcheck_group(vcheck *v, u64 group);  /* a threadgroup begins */
void vcheck_round(vcheck *v);             /* all its simdgroups passed a barrier */
/* The launch has ended: reports. 0 when nothing was found. */
tm_status vcheck_end(vcheck *v, tm_ctx *ctx, const tm_launch_params *p);

/* After decoding, with the checks "schedules" and "numerics". -1: they cannot be decoded. */
tm_status twins_make(tm_ctx *ctx, air_module *m, const tm_constant_value *constants, u32 n_constants, vgpu_kernel *k);
void twins_free(vgpu_kernel *k);
bool vgpu_checks_guard(const vgpu_checks *c);     /* does one of them need guards? */
bool vgpu_checks_look(const vgpu_checks *c);      /* one that looks for more than endless loops? */
u64 vgpu_order(u32 order, u64 seed, u64 i, u64 n);
tm_status vgpu_run_once(tm_ctx *ctx, const vgpu_kernel *k, const tm_launch_params *p);
/* And then in other orders (check "schedules") and as decoded otherwise ("numerics"), from the same buffers. */
tm_status vgpu_run_again(tm_ctx *ctx, const vgpu_kernel *k, const tm_launch_params *p);

/* ---- between the files */
/* An access as its shadow sees it: `rows` times [address, address + size) in one segment, `stride` bytes apart;
 * of `lanes`, per_lane bytes each. */
typedef struct vspan {
    vctx *c;
    const vins *g;          /* the guarded instruction; NULL when its values are not known */
    const u64 *lane_address;/* NULL: lane after lane from `address` on, the first being `lane` */
    u32 site, lanes, lane, per_lane, rows;
    i64 stride;
    u64 address, size;
    u8 act;
    bool raced, unwritten;  /* was reported */
    u64 zero;               /* address of the first byte of the map that is being touched */
} vspan;
#define VCHECK_OFFSET(address) ((address) & 0xFFFFFFFFFFFFull)
static inline u8 *vcheck_host(const vcheck *v, u64 address) {
    return (u8 *)((uintptr_t)v->segs[address >> 48].host + (uintptr_t)VCHECK_OFFSET(address));
}
vrecord *vcheck_record(vcheck *v, const vctx *c, u8 kind, u32 site, u32 lanes);
bool vcheck_muted(const vcheck *v, u8 kind); /* is this record one that is left out? */
u64 vcheck_value(const vctx *c, const vins *g, u32 element, u32 lane); /* what a store will write */
bool vcheck_same(const vcheck *v, const vspan *s, u64 address, u32 size);
void shadow_rows(vcheck *v, vspan *s);
bool shadow_lanes(vcheck *v, vspan *s, bool ascending); /* may two lanes name the same place? */
bool shadow_begin(vcheck *v, const tm_launch_params *p, u64 groups);
void shadow_group(vcheck *v);
void shadow_epoch(vcheck *v);
void shadow_free(vcheck *v);
bool message_begin(vcheck *v, u64 groups);
void message_free(vcheck *v);
void message_pass(vcheck *v, const u64 *address, u32 lanes, u32 order); /* an atomic's */
void message_fence(vcheck *v, u32 order);
void check_operands(vcheck *v, vctx *c, const vins *ip, u32 mask);
void spin_note(vcheck *v, vctx *c, const vins *g, const u64 *address, u32 mask);
