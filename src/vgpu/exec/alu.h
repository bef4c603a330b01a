/* SPDX-License-Identifier: MIT */
/* Handlers of lane operations. exec.c includes this file twice inside its loop: once with every lane
 * written (MASKED 0), once with inactive lanes kept (MASKED 1). Each handler walks a register in
 * chunks of the machine's width; a shared operand is broadcast from the scalar file. Forms in which
 * all operands are shared appear once, in the MASKED 0 pass. */
#if MASKED
#define PUTW(i, v) (CHW(ip->d, i) = blend_w(mask, i, CHW(ip->d, i), (vu)(v)))
#define PUTD(i, v) (CHD(ip->d, i) = blend_d(mask, i, CHD(ip->d, i), (vU)(v)))
#define SHARED(...)
#else
#define PUTW(i, v) (CHW(ip->d, i) = (vu)(v))
#define PUTD(i, v) (CHD(ip->d, i) = (vU)(v))
#define SHARED(...) __VA_ARGS__
#endif

/* Binary, W: T the chunk type, ST the scalar type and GET its reader. */
#define BINW_FORM(n, T, A, B, e)                                                                   \
    H(n) {                                                                                         \
        for (int i = 0; i < CW; i++) {                                                             \
            T a = A, b = B;                                                                        \
            PUTW(i, e);                                                                            \
        }                                                                                          \
        NEXT;                                                                                      \
    }
#define BINW(n, T, BC, ST, GET, e, se)                                                             \
    BINW_FORM(n, T, (T)CHW(ip->a, i), (T)CHW(ip->b, i), e)                                         \
    BINW_FORM(n##_sv, T, BC(GET(ip->a)), (T)CHW(ip->b, i), e)                                      \
    BINW_FORM(n##_vs, T, (T)CHW(ip->a, i), BC(GET(ip->b)), e)                                      \
    SHARED(HB(n##_ss) {                                                                             \
        ST a = GET(ip->a), b = GET(ip->b);                                                         \
        SET_##ST(se);                                                                              \
        NEXT;                                                                                      \
    })
#define BINU(n, e, se) BINW(n, vu, splat_u, u32, SU, e, se)
#define BINI(n, e, se) BINW(n, vi, splat_i, i32, SI, e, se)
#define BINF(n, e, se) BINW(n, vf, splat_f, float, SF, e, se)
BINU(add_w, a + b, a + b)
BINU(sub_w, a - b, a - b)
BINU(mul_w, a *b, a *b)
BINU(and_w, a &b, a &b)
BINU(or_w, a | b, a | b)
BINU(xor_w, a ^ b, a ^ b)
BINU(shl_w, (a << (b & 31)) & (vu)(b < 32), b < 32 ? a << b : 0)
BINU(lshr_w, (a >> (b & 31)) & (vu)(b < 32), b < 32 ? a >> b : 0)
BINI(ashr_w, a >> (vi)pick_w((vu)((vu)b < 32), (vu)b, splat_u(31)), a >> ((u32)b < 32 ? b : 31))
BINU(umin_w, pick_w((vu)(a < b), a, b), a < b ? a : b)
BINU(umax_w, pick_w((vu)(a > b), a, b), a > b ? a : b)
BINI(smin_w, pick_w((vu)(a < b), (vu)a, (vu)b), a < b ? a : b)
BINI(smax_w, pick_w((vu)(a > b), (vu)a, (vu)b), a > b ? a : b)
BINF(fadd, a + b, a + b)
BINF(fsub, a - b, a - b)
BINF(fmul, a *b, a *b)
BINF(fdiv, a / b, a / b)
BINF(fmin, fmin_v(a, b), fmin_s(a, b))
BINF(fmax, fmax_v(a, b), fmax_s(a, b))

/* Rare ones: lane by lane through the scalar form. */
#define LANESW(n, ST, GET, se)                                                                     \
    H(n) LANES_BODY(n, LANE_##ST(ip->a, l), LANE_##ST(ip->b, l), ST, se)                           \
    H(n##_sv) LANES_BODY(n, GET(ip->a), LANE_##ST(ip->b, l), ST, se)                               \
    H(n##_vs) LANES_BODY(n, LANE_##ST(ip->a, l), GET(ip->b), ST, se)                               \
    SHARED(HB(n##_ss) {                                                                             \
        ST a = GET(ip->a), b = GET(ip->b);                                                         \
        SET_##ST(se);                                                                              \
        NEXT;                                                                                      \
    })
#define LANES_BODY(n, A, B, ST, se)                                                                \
    {                                                                                              \
        for (int l = 0; l < VGPU_LANES; l++)                                                       \
            if (!MASKED || mask >> l & 1) {                                                        \
                ST a = A, b = B;                                                                   \
                LANE_##ST(ip->d, l) = se;                                                          \
            }                                                                                      \
        NEXT;                                                                                      \
    }
LANESW(udiv_w, u32, SU, b ? a / b : UINT32_MAX)
LANESW(sdiv_w, i32, SI, b == 0 ? -1 : b == -1 ? (i32)(0u - (u32)a) : a / b)
LANESW(urem_w, u32, SU, b ? a % b : a)
LANESW(srem_w, i32, SI, b == 0 ? a : b == -1 ? 0 : a % b)
LANESW(umulhi_w, u32, SU, (u32)((u64)a * b >> 32))
LANESW(smulhi_w, i32, SI, (i32)((i64)a * b >> 32))
#define FLUSHED2(f) flushed_s(f(flushed_s(a), flushed_s(b)))
LANESW(fmod, float, SF, FLUSHED2(fmodf))
LANESW(fpow, float, SF, FLUSHED2(powf))
LANESW(fatan2, float, SF, FLUSHED2(atan2f))
LANESW(fnext, float, SF, nextafterf(a, b))
LANESW(hnext, float, SF, hnext_s(a, b))
LANESW(fldexp, float, SF, flushed_s(ldexpf(flushed_s(a), (i32)as_u(b))))

#define BIND_FORM(n, T, A, B, e)                                                                   \
    H(n) {                                                                                         \
        for (int i = 0; i < CD; i++) {                                                             \
            T a = A, b = B;                                                                        \
            PUTD(i, e);                                                                            \
        }                                                                                          \
        NEXT;                                                                                      \
    }
#define BIND(n, T, BC, ST, e, se)                                                                  \
    BIND_FORM(n, T, (T)CHD(ip->a, i), (T)CHD(ip->b, i), e)                                         \
    BIND_FORM(n##_sv, T, BC((ST)S[ip->a]), (T)CHD(ip->b, i), e)                                    \
    BIND_FORM(n##_vs, T, (T)CHD(ip->a, i), BC((ST)S[ip->b]), e)                                    \
    SHARED(HB(n##_ss) {                                                                             \
        ST a = (ST)S[ip->a], b = (ST)S[ip->b];                                                     \
        S[ip->d] = (u64)(se);                                                                      \
        NEXT;                                                                                      \
    })
#define BINDU(n, e, se) BIND(n, vU, splat_U, u64, e, se)
#define BINDI(n, e, se) BIND(n, vI, splat_I, i64, e, se)
#define PICKD(c, a, b) (((vU)(a) & (vU)(c)) | ((vU)(b) & ~(vU)(c)))
BINDU(add_d, a + b, a + b)
BINDU(sub_d, a - b, a - b)
BINDU(mul_d, a *b, a *b)
BINDU(and_d, a &b, a &b)
BINDU(or_d, a | b, a | b)
BINDU(xor_d, a ^ b, a ^ b)
BINDU(shl_d, (a << (b & 63)) & (vU)(b < 64), b < 64 ? a << b : 0)
BINDU(lshr_d, (a >> (b & 63)) & (vU)(b < 64), b < 64 ? a >> b : 0)
BINDI(ashr_d, a >> (vI)PICKD((vU)b < 64, b, splat_U(63)), a >> ((u64)b < 64 ? b : 63))
BINDU(umin_d, PICKD(a < b, a, b), a < b ? a : b)
BINDU(umax_d, PICKD(a > b, a, b), a > b ? a : b)
BINDI(smin_d, PICKD(a < b, a, b), a < b ? a : b)
BINDI(smax_d, PICKD(a > b, a, b), a > b ? a : b)

#define LANESD(n, ST, se)                                                                          \
    H(n) LANES_BODYD(LANE_D(ip->a, l), LANE_D(ip->b, l), ST, se)                                   \
    H(n##_sv) LANES_BODYD(S[ip->a], LANE_D(ip->b, l), ST, se)                                      \
    H(n##_vs) LANES_BODYD(LANE_D(ip->a, l), S[ip->b], ST, se)                                      \
    SHARED(HB(n##_ss) {                                                                             \
        ST a = (ST)S[ip->a], b = (ST)S[ip->b];                                                     \
        S[ip->d] = (u64)(se);                                                                      \
        NEXT;                                                                                      \
    })
#define LANES_BODYD(A, B, ST, se)                                                                  \
    {                                                                                              \
        for (int l = 0; l < VGPU_LANES; l++)                                                       \
            if (!MASKED || mask >> l & 1) {                                                        \
                ST a = (ST)(A), b = (ST)(B);                                                       \
                LANE_D(ip->d, l) = (u64)(se);                                                      \
            }                                                                                      \
        NEXT;                                                                                      \
    }
LANESD(udiv_d, u64, b ? a / b : UINT64_MAX)
LANESD(sdiv_d, i64, b == 0 ? -1 : b == -1 ? (i64)(0u - (u64)a) : a / b)
LANESD(urem_d, u64, b ? a % b : a)
LANESD(srem_d, i64, b == 0 ? a : b == -1 ? 0 : a % b)
LANESD(umulhi_d, u64, (u64)((unsigned __int128)a * b >> 64))
LANESD(smulhi_d, i64, (i64)((__int128)a * b >> 64))

/* Unary, W to W. */
#define UNW_FORM(n, T, e)                                                                          \
    H(n) {                                                                                         \
        for (int i = 0; i < CW; i++) {                                                             \
            T a = (T)CHW(ip->a, i);                                                                \
            PUTW(i, e);                                                                            \
        }                                                                                          \
        NEXT;                                                                                      \
    }
#define UNW(n, T, ST, GET, RT, e, se)                                                              \
    UNW_FORM(n, T, e)                                                                              \
    SHARED(HB(n##_s) {                                                                              \
        ST a = GET(ip->a);                                                                         \
        SET_##RT(se);                                                                              \
        NEXT;                                                                                      \
    })
#define UNF(n) UNW(n, vf, float, SF, float, n##_v(a), VIA_CHUNK(n##_v, a))
UNW(r16, vf, float, SF, float, r16_v(a), r16_s(a))
UNW(rbf, vf, float, SF, float, rbf_v(a), rbf_s(a))
UNW(h2f, vu, u32, SU, float, h2f_v(a), h2f_s(a))
UNW(f2h, vf, float, SF, u32, f2h_v(a), f2h_s(a))
UNF(ffloor)
UNF(fceil)
UNF(frint)
UNF(fround)
UNF(ftrunc)
UNW(fsqrt, vf, float, SF, float, sqrt_v(a), VIA_CHUNK(sqrt_v, a))
UNF(frsqrt)
UNF(fexp)
UNF(fexp2)
UNF(flog)
UNF(flog2)
UNF(fsin)
UNF(fcos)
UNF(ftanh)
UNW(s2f, vi, i32, SI, float, s2f_v(a), (float)a)
UNW(u2f, vu, u32, SU, float, u2f_v(a), (float)a)
UNW(f2s, vf, float, SF, i32, f2ssat_v(a), f2s_s(a))
UNW(f2u, vf, float, SF, u32, f2usat_v(a), f2u_s(a))

#define LANES1(n, D, A, ST, GET, RT, se)                                                           \
    H(n) {                                                                                         \
        for (int l = 0; l < VGPU_LANES; l++)                                                       \
            if (!MASKED || mask >> l & 1) {                                                        \
                ST a = (ST)A(ip->a, l);                                                            \
                D(ip->d, l) = se;                                                                  \
            }                                                                                      \
        NEXT;                                                                                      \
    }                                                                                              \
    SHARED(HB(n##_s) {                                                                              \
        ST a = GET(ip->a);                                                                         \
        SET_##RT(se);                                                                              \
        NEXT;                                                                                      \
    })
#define LIBM(n, f) LANES1(n, LANE_float, LANE_float, float, SF, float, flushed_s(f(flushed_s(a))))
LIBM(fexp10, exp10_s)
LIBM(flog10, log10f)
LIBM(ftan, tanf)
LIBM(fsinpi, sinpi_s)
LIBM(fcospi, cospi_s)
LIBM(fasin, asinf)
LIBM(facos, acosf)
LIBM(fatan, atanf)
LIBM(fsinh, sinhf)
LIBM(fcosh, coshf)
LIBM(fasinh, asinhf)
LIBM(facosh, acoshf)
LIBM(fatanh, atanhf)
LANES1(f2w, LANE_u32, LANE_float, float, SF, u32, (u32)f2wrap_s(a))
LANES1(f2w_d, LANE_D, LANE_float, float, SF, u64, f2wrap_s(a))
LANES1(popc_w, LANE_u32, LANE_u32, u32, SU, u32, (u32)__builtin_popcount(a))
LANES1(clz_w, LANE_u32, LANE_u32, u32, SU, u32, a ? (u32)__builtin_clz(a) : 32)
LANES1(ctz_w, LANE_u32, LANE_u32, u32, SU, u32, a ? (u32)__builtin_ctz(a) : 32)
LANES1(rev_w, LANE_u32, LANE_u32, u32, SU, u32, reverse_bits(a))
LANES1(popc_d, LANE_D, LANE_D, u64, SD, u64, (u64)__builtin_popcountll(a))
LANES1(clz_d, LANE_D, LANE_D, u64, SD, u64, a ? (u64)__builtin_clzll(a) : 64)
LANES1(ctz_d, LANE_D, LANE_D, u64, SD, u64, a ? (u64)__builtin_ctzll(a) : 64)
LANES1(s2f_d, LANE_float, LANE_D, i64, SDI, float, (float)a)
LANES1(u2f_d, LANE_float, LANE_D, u64, SD, float, (float)a)
LANES1(f2s_d, LANE_D, LANE_float, float, SF, u64, (u64)f2s64_s(a))
LANES1(f2u_d, LANE_D, LANE_float, float, SF, u64, f2u64_s(a))

/* Widening and narrowing; operand and result never share a slot (other register pools). */
H(zext_d) {
    for (int i = 0; i < CD; i++)
        PUTD(i, __builtin_convertvector(CHHU(ip->a, i), vU));
    NEXT;
}
H(sext_d) {
    for (int i = 0; i < CD; i++)
        PUTD(i, __builtin_convertvector(CHHI(ip->a, i), vI));
    NEXT;
}
H(trunc_w) {
    u32 t[VGPU_LANES] __attribute__((aligned(64)));
    for (int l = 0; l < VGPU_LANES; l++)
        t[l] = (u32)LANE_D(ip->a, l);
    for (int i = 0; i < CW; i++)
        PUTW(i, ((vu *)t)[i]);
    NEXT;
}
SHARED(HB(zext_d_s) { S[ip->d] = SU(ip->a); NEXT; })
SHARED(HB(sext_d_s) { S[ip->d] = (u64)(i64)SI(ip->a); NEXT; })
SHARED(HB(trunc_w_s) { S[ip->d] = (u32)S[ip->a]; NEXT; })

/* a * b + c; the letters of a form follow a, b, c. */
#define FMA_FORM(n, A, B, C)                                                                       \
    H(n) {                                                                                         \
        for (int i = 0; i < CW; i++)                                                               \
            PUTW(i, fma_v(A, B, C));                                                               \
        NEXT;                                                                                      \
    }
#define VA ((vf)CHW(ip->a, i))
#define VBB ((vf)CHW(ip->b, i))
#define VC ((vf)CHW(ip->c, i))
#define XA splat_f(SF(ip->a))
#define XB splat_f(SF(ip->b))
#define XC splat_f(SF(ip->c))
FMA_FORM(ffma, VA, VBB, VC)
FMA_FORM(ffma_svv, XA, VBB, VC)
FMA_FORM(ffma_vsv, VA, XB, VC)
FMA_FORM(ffma_ssv, XA, XB, VC)
FMA_FORM(ffma_vvs, VA, VBB, XC)
FMA_FORM(ffma_svs, XA, VBB, XC)
FMA_FORM(ffma_vss, VA, XB, XC)
SHARED(HB(ffma_sss) {
    SET_float(fma_s(SF(ip->a), SF(ip->b), SF(ip->c)));
    NEXT;
})

#define SELW_FORM(n, B, C)                                                                         \
    H(n) {                                                                                         \
        u32 cond = (u32)S[ip->a];                                                                  \
        for (int i = 0; i < CW; i++)                                                               \
            PUTW(i, blend_w(cond, i, C, B));                                                       \
        NEXT;                                                                                      \
    }
SELW_FORM(sel_w, CHW(ip->b, i), CHW(ip->c, i))
SELW_FORM(sel_w_sv, splat_u(SU(ip->b)), CHW(ip->c, i))
SELW_FORM(sel_w_vs, CHW(ip->b, i), splat_u(SU(ip->c)))
SELW_FORM(sel_w_ss, splat_u(SU(ip->b)), splat_u(SU(ip->c)))
#define SELD_FORM(n, B, C)                                                                         \
    H(n) {                                                                                         \
        u32 cond = (u32)S[ip->a];                                                                  \
        for (int i = 0; i < CD; i++)                                                               \
            PUTD(i, blend_d(cond, i, C, B));                                                       \
        NEXT;                                                                                      \
    }
SELD_FORM(sel_d, CHD(ip->b, i), CHD(ip->c, i))
SELD_FORM(sel_d_sv, splat_U(S[ip->b]), CHD(ip->c, i))
SELD_FORM(sel_d_vs, CHD(ip->b, i), splat_U(S[ip->c]))
SELD_FORM(sel_d_ss, splat_U(S[ip->b]), splat_U(S[ip->c]))

H(mov_w) {
    for (int i = 0; i < CW; i++)
        PUTW(i, CHW(ip->a, i));
    NEXT;
}
H(mov_d) {
    for (int i = 0; i < CD; i++)
        PUTD(i, CHD(ip->a, i));
    NEXT;
}
H(splat_w) {
    for (int i = 0; i < CW; i++)
        PUTW(i, splat_u(SU(ip->a)));
    NEXT;
}
H(splat_d) {
    for (int i = 0; i < CD; i++)
        PUTD(i, splat_U(S[ip->a]));
    NEXT;
}
H(shuf_w) {
    u32 t[VGPU_LANES] __attribute__((aligned(64)));
    permute_w(t, &LANE_u32(ip->a, 0), &LANE_u32(ip->b, 0));
    for (int i = 0; i < CW; i++)
        PUTW(i, ((vu *)t)[i]);
    NEXT;
}
H(shuf_d) {
    u64 t[VGPU_LANES] __attribute__((aligned(64)));
    for (int l = 0; l < VGPU_LANES; l++)
        t[l] = LANE_D(ip->a, LANE_u32(ip->b, l) & 31);
    for (int i = 0; i < CD; i++)
        PUTD(i, ((vU *)t)[i]);
    NEXT;
}
H(scan_d) {
    u64 t[VGPU_LANES] __attribute__((aligned(64)));
    scan_lanes_d(t, &LANE_D(ip->a, 0), mask, ip->x, ip->imm != 0);
    for (int i = 0; i < CD; i++)
        PUTD(i, ((vU *)t)[i]);
    NEXT;
}
H(scan_w) {
    u32 t[VGPU_LANES] __attribute__((aligned(64)));
    scan_lanes(t, &LANE_u32(ip->a, 0), mask, ip->x, ip->imm != 0);
    for (int i = 0; i < CW; i++)
        PUTW(i, ((vu *)t)[i]);
    NEXT;
}
H(xget) {
    const float *m = (const float *)WIDE(ip->a);
    float t[VGPU_LANES] __attribute__((aligned(64)));
    for (int l = 0; l < VGPU_LANES; l++)
        t[l] = m[fragment_at[l] + ip->imm];
    for (int i = 0; i < CW; i++)
        PUTW(i, ((vu *)t)[i]);
    NEXT;
}

/* Comparisons: bits of the active lanes; the other bits of the result stay. */
#define CMP_FORM(n, N, T, A, B, BITS, LANES_IN, e)                                                 \
    H(n) {                                                                                         \
        u32 r = 0;                                                                                 \
        for (int i = 0; i < N; i++) {                                                              \
            T a = A, b = B;                                                                        \
            r |= (BITS(e)) << (LANES_IN * i & 31);                                                 \
        }                                                                                          \
        SETM(r);                                                                                   \
        NEXT;                                                                                      \
    }
#define CMPW(n, T, BC, ST, GET, e, se)                                                             \
    CMP_FORM(n, CW, T, (T)CHW(ip->a, i), (T)CHW(ip->b, i), BITW, NW, e)                            \
    CMP_FORM(n##_sv, CW, T, BC(GET(ip->a)), (T)CHW(ip->b, i), BITW, NW, e)                         \
    CMP_FORM(n##_vs, CW, T, (T)CHW(ip->a, i), BC(GET(ip->b)), BITW, NW, e)                         \
    SHARED(HB(n##_ss) {                                                                             \
        ST a = GET(ip->a), b = GET(ip->b);                                                         \
        S[ip->d] = (se) ? ~0u : 0;                                                                 \
        NEXT;                                                                                      \
    })
#define CMPD(n, T, BC, ST, GET, e)                                                                 \
    CMP_FORM(n, CD, T, (T)CHD(ip->a, i), (T)CHD(ip->b, i), BITD, ND, e)                            \
    CMP_FORM(n##_sv, CD, T, BC(GET(ip->a)), (T)CHD(ip->b, i), BITD, ND, e)                         \
    CMP_FORM(n##_vs, CD, T, (T)CHD(ip->a, i), BC(GET(ip->b)), BITD, ND, e)                         \
    SHARED(HB(n##_ss) {                                                                             \
        ST a = GET(ip->a), b = GET(ip->b);                                                         \
        S[ip->d] = (e) ? ~0u : 0;                                                                  \
        NEXT;                                                                                      \
    })
#define CMPU(n, e) CMPW(n, vu, splat_u, u32, SU, e, e)
#define CMPI(n, e) CMPW(n, vi, splat_i, i32, SI, e, e)
#define CMPF(n, e, se) CMPW(n, vf, splat_f, float, SF, e, se)
CMPU(eq_w, a == b)
CMPU(ne_w, a != b)
CMPU(ult_w, a < b)
CMPU(ule_w, a <= b)
CMPI(slt_w, a < b)
CMPI(sle_w, a <= b)
CMPD(eq_d, vU, splat_U, u64, SD, a == b)
CMPD(ne_d, vU, splat_U, u64, SD, a != b)
CMPD(ult_d, vU, splat_U, u64, SD, a < b)
CMPD(ule_d, vU, splat_U, u64, SD, a <= b)
CMPD(slt_d, vI, splat_I, i64, SDI, a < b)
CMPD(sle_d, vI, splat_I, i64, SDI, a <= b)
#define ORD ((a == a) & (b == b))
CMPF(foeq, a == b, a == b)
CMPF(folt, a < b, a < b)
CMPF(fole, a <= b, a <= b)
CMPF(fone, (a < b) | (a > b), a < b || a > b)
CMPF(ford, ORD, a == a && b == b)
CMPF(fueq, ~((a < b) | (a > b)), !(a < b || a > b))
CMPF(fult, ~(a >= b), !(a >= b))
CMPF(fule, ~(a > b), !(a > b))
CMPF(fune, a != b, a != b)
CMPF(funo, ~ORD, a != a || b != b)

#undef PUTW
#undef PUTD
#undef SHARED
#undef BINW_FORM
#undef BINW
#undef BINU
#undef BINI
#undef BINF
#undef LANESW
#undef LANES_BODY
#undef FLUSHED2
#undef BIND_FORM
#undef BIND
#undef BINDU
#undef BINDI
#undef PICKD
#undef LANESD
#undef LANES_BODYD
#undef UNW_FORM
#undef UNW
#undef UNF
#undef LANES1
#undef LIBM
#undef FMA_FORM
#undef VA
#undef VBB
#undef VC
#undef XA
#undef XB
#undef XC
#undef SELW_FORM
#undef SELD_FORM
#undef CMP_FORM
#undef CMPW
#undef CMPD
#undef CMPU
#undef CMPI
#undef CMPF
#undef ORD
