/* SPDX-License-Identifier: MIT */
/* Lane bytecode: what decode makes and exec runs. A kernel has two register files: the wide one in
 * slots of 128 bytes (32 lanes of 32 bits; 64-bit values and matrices take two), and the scalar one
 * of u64 (values that all lanes share, and i1 values as lane masks).
 * Pointers are tagged: bits 63..48 name a segment, bits 47..0 an offset biased by VGPU_BIAS. */
#pragma once
#include "vgpu/vgpu.h"

enum { VGPU_LANES = 32, VGPU_SLOT = 128, VGPU_STACK = 80, VGPU_RECURSION = 8 };
#define VGPU_BIAS (1ull << 46)
enum { SEG_NULL, SEG_THREADGROUP, SEG_THREAD, SEG_CONST, SEG_ARG0 };
#define VGPU_PTR(seg, offset) (((u64)(seg) << 48) + VGPU_BIAS + (u64)(offset))

/* Element kinds in memory, in the order of the MEM rows of vops.def. */
enum vmem { VMEM_B, VMEM_H, VMEM_F, VMEM_G, VMEM_W, VMEM_D, VMEM_COUNT };
enum vred { VRED_FADD, VRED_FMUL, VRED_FMIN, VRED_FMAX, VRED_ADD, VRED_MUL, VRED_SMIN, VRED_SMAX,
            VRED_UMIN, VRED_UMAX, VRED_AND, VRED_OR, VRED_XOR };
enum vatom { VATOM_LOAD, VATOM_STORE, VATOM_XCHG, VATOM_CAS, VATOM_ADD, VATOM_SUB, VATOM_AND,
             VATOM_OR, VATOM_XOR, VATOM_SMIN, VATOM_SMAX, VATOM_UMIN, VATOM_UMAX, VATOM_FADD,
             VATOM_FSUB, VATOM_FMIN, VATOM_FMAX };

/* Of atomics and fences, for the check "races". */
enum { ORDER_ACQUIRE = 1, ORDER_RELEASE = 2 };

enum vop {
#define OP1(n, sig, doc) VOP_##n,
#define OV1 OP1
#define OP2(n, sig, doc) VOP_##n, VOP_##n##_s,
#define OP4(n, sig, doc) VOP_##n, VOP_##n##_sv, VOP_##n##_vs, VOP_##n##_ss,
#define OV4 OP4
#define OP8(n, sig, doc)                                                                           \
    VOP_##n, VOP_##n##_svv, VOP_##n##_vsv, VOP_##n##_ssv, VOP_##n##_vvs, VOP_##n##_svs,            \
        VOP_##n##_vss, VOP_##n##_sss,
#include "vgpu/vops.def"
#undef OP1
#undef OV1
#undef OP2
#undef OP4
#undef OV4
#undef OP8
    VOP_COUNT
};

typedef struct vop_info {
    const char *name, *sig, *doc;
    u8 forms; /* 1, 2, 4, 8: of the row; form is this entry's number among them */
    u8 form;
} vop_info;
extern const vop_info vops[VOP_COUNT];

typedef struct vins {
    u16 op, d, a, b, c, x;
    i32 imm;
} vins;
_Static_assert(sizeof(vins) == 16, "an instruction is one quarter of a cache line");

/* What a report says of an instruction. */
typedef struct vsite {
    const src_loc *loc;
    const char *what; /* "store of 4 bytes"; NULL when it cannot fail */
    u32 inst;         /* number of the kernel's AIR instruction, VGPU_NO_BLOCK in a function it calls */
} vsite;

enum vparam_kind { VPARAM_BUFFER, VPARAM_THREADGROUP, VPARAM_SCALAR, VPARAM_LANES };
enum vsystem { VSYS_TG_POS, VSYS_TG_COUNT, VSYS_TG_SIZE, VSYS_GRID_SIZE, VSYS_SG_INDEX, VSYS_SG_COUNT,
               VSYS_POS_IN_GRID, VSYS_POS_IN_TG, VSYS_INDEX_IN_TG, VSYS_LANE, VSYS_GRID_ORIGIN,
               VSYS_SG_SIZE, VSYS_QUAD_LANE, VSYS_QUAD_INDEX, VSYS_QUAD_COUNT, VSYS_COUNT };
typedef struct vparam {
    u8 kind;
    u8 system, axis;  /* SCALAR and LANES */
    bool writes, gated;
    u16 seg;          /* BUFFER */
    u8 space;         /* BUFFER: AIR's address space, 2 is constant */
    u32 location, min_size, elem_size;
    const char *type; /* Metal's name of the element, NULL unknown */
    i32 reg;          /* scalar number, or wide slot for LANES; -1 unused */
    const char *name;
} vparam;

typedef struct vtwin { vgpu_kernel *k; const vgpu_choice *choice; } vtwin;
typedef struct vctx vctx;
typedef struct vgroup vgroup;

struct vgpu_kernel {
    arena *arena;
    const char *name;
    vins *code;
    u32 *sites;       /* of each word of code */
    vsite *site;
    u32 n_sites, n_code, n_wide, n_scalar, n_scalar_consts, n_barriers, n_params, n_segs;
    u64 *scalar_consts;
    vparam *params;
    u16 spare_w, spare_d, spare_s; /* for cycles of copies */
    u32 tg_bytes, thread_bytes, max_threads;
    u8 *const_data;
    u64 const_size;
    bool const_writable; /* while static initialisers run */
    vgpu_checks checks;
    struct count_plan *count; /* NULL unless decoded with checks.count */
    u32 granule, n_atomics; /* log2 of the smallest access; atomic instructions */
    const struct vlines *lines; /* NULL, or the source lines of its instructions */
    vgpu_numerics numerics;
    vgpu_kernel *plain;  /* without guards, when checks run the kernel again; else NULL */
    struct vtwin *twins; /* with the check "numerics": the same kernel, decoded for other choices */
    u32 n_twins;
    struct vpool *pool; /* idle workers */
};

/* Memory a pointer's tag names. host is where offset 0 would be; [lo, lo + size) is legal. */
typedef struct vseg {
    u8 *host;
    u64 lo, size;
    bool read_only, unbound;
} vseg;

enum vfault_kind { VFAULT_NONE, VFAULT_BOUNDS, VFAULT_UNBOUND, VFAULT_READ_ONLY, VFAULT_NULL,
                   VFAULT_STEPS, VFAULT_BARRIER_DIVERGENT, VFAULT_BARRIER_MISMATCH,
                   VFAULT_MATRIX_DIVERGENT, VFAULT_UNREACHABLE, VFAULT_STUCK, VFAULT_DEPTH };
typedef struct vfault {
    u8 kind;
    bool store;
    u32 pc, lanes, size, simdgroup;
    u64 address;
} vfault;

typedef struct vwait { u32 pc, rpc, mask; } vwait;

/* One simdgroup. */
struct vctx {
    u8 *wide;
    u64 *scalar;
    u8 *thread;       /* thread memory: granule g (4 bytes) of lane l at g * 128 + l * 4 */
    const vgpu_kernel *k;
    vseg *segs;
    u32 pc, mask, live, rpc, depth, index;
    u64 steps;
    u32 barrier;      /* where it waits */
    struct count_tally *tally; /* NULL when k->count is */
    u32 *atomic_lock; /* the launch's, for atomics that the host has none for */
    bool done, waits; /* waits: for its threadgroup, at a barrier */
    bool turns;       /* stops at each turn word */
    vfault fault;
    struct vcheck *check; /* NULL: no check beyond those of the handlers */
    struct vsnap *snap;   /* of a loop that may be endless */
    u32 all;          /* the lanes it began with */
    u64 rounds;       /* of loops, with checks */
    vwait stack[VGPU_STACK];
};

enum vstop { VSTOP_DONE, VSTOP_BARRIER, VSTOP_FAULT, VSTOP_STUCK, VSTOP_TURN };
typedef enum vstop (*vexec_fn)(vctx *c);
enum vstop vexec_base(vctx *c);
enum vstop vexec_avx2(vctx *c);
enum vstop vexec_avx512(vctx *c);
/* The best the host has, or what TRITON_METAL_ISA names: NULL, with that name, when the host has no such. */
vexec_fn vexec_choose(const char **name);

tm_status vgpu_report(tm_ctx *ctx, const vgpu_kernel *k, const vseg *segs, const vfault *f,
                      const u32 group[3]);
bool vgpu_muted(const vgpu_kernel *k, u32 code); /* 3101 .. 3501: is this report left out? */
bool vgpu_fault_muted(const vgpu_kernel *k, const vfault *f);
void vcheck_guard(vctx *c, const vins *ip, u32 mask);
bool vcheck_loop(vctx *c, const vins *ip);
const src_loc *vgpu_loc(const vgpu_kernel *k, u32 site); /* NULL unknown */
bool vpool_new(vgpu_kernel *k);
void vpool_free(vgpu_kernel *k);
#define VGPU_NO_BLOCK 0xFFFFFFFFu
