// RUN: tm-emit --macos=15 %s | filecheck %s
// RUN: tm-emit --macos=15 %s | llvm-as-14 - -o /dev/null
// RUN: for v in 13 14 15 26; do tm-emit --macos=$v --bitcode %s >%t.$v.w && opt-14 -mtriple=x86_64 -passes=verify %t.$v.w -o /dev/null || exit 1; done
// Library functions by libdevice's and by plain names.
// CHECK: call float @air.exp.f32
// CHECK: call float @air.fast_exp.f32
// CHECK: call float @air.atanh.f32
// CHECK: call float @air.pow.f32
// CHECK: call float @air.ldexp.f32(float %{{[0-9]+}}, i32
// CHECK: fcmp uno float
// CHECK: call i64 @air.convert.s.i64.f.f32
module {
  tt.func public @k(%p: !tt.ptr<f32>, %q: !tt.ptr<i32>) {
    %v0 = tm.load %p {align = 4 : i32} : (!tt.ptr<f32>) -> f32
    %i = tm.load %q {align = 4 : i32} : (!tt.ptr<i32>) -> i32
    %v1 = tt.extern_elementwise %v0 {libname = "", libpath = "", pure = true, symbol = "expf"} : (f32) -> f32
    %v2 = tt.extern_elementwise %v1 {libname = "", libpath = "", pure = true, symbol = "__nv_fast_expf"} : (f32) -> f32
    %v3 = tt.extern_elementwise %v2 {libname = "", libpath = "", pure = true, symbol = "__nv_exp2f"} : (f32) -> f32
    %v4 = tt.extern_elementwise %v3 {libname = "", libpath = "", pure = true, symbol = "exp10f"} : (f32) -> f32
    %v5 = tt.extern_elementwise %v4 {libname = "", libpath = "", pure = true, symbol = "__nv_logf"} : (f32) -> f32
    %v6 = tt.extern_elementwise %v5 {libname = "", libpath = "", pure = true, symbol = "__nv_log2f"} : (f32) -> f32
    %v7 = tt.extern_elementwise %v6 {libname = "", libpath = "", pure = true, symbol = "log10f"} : (f32) -> f32
    %v8 = tt.extern_elementwise %v7 {libname = "", libpath = "", pure = true, symbol = "__nv_sinf"} : (f32) -> f32
    %v9 = tt.extern_elementwise %v8 {libname = "", libpath = "", pure = true, symbol = "__nv_cosf"} : (f32) -> f32
    %v10 = tt.extern_elementwise %v9 {libname = "", libpath = "", pure = true, symbol = "tanf"} : (f32) -> f32
    %v11 = tt.extern_elementwise %v10 {libname = "", libpath = "", pure = true, symbol = "__nv_asinf"} : (f32) -> f32
    %v12 = tt.extern_elementwise %v11 {libname = "", libpath = "", pure = true, symbol = "__nv_acosf"} : (f32) -> f32
    %v13 = tt.extern_elementwise %v12 {libname = "", libpath = "", pure = true, symbol = "atanf"} : (f32) -> f32
    %v14 = tt.extern_elementwise %v13 {libname = "", libpath = "", pure = true, symbol = "__nv_sinhf"} : (f32) -> f32
    %v15 = tt.extern_elementwise %v14 {libname = "", libpath = "", pure = true, symbol = "__nv_coshf"} : (f32) -> f32
    %v16 = tt.extern_elementwise %v15 {libname = "", libpath = "", pure = true, symbol = "tanhf"} : (f32) -> f32
    %v17 = tt.extern_elementwise %v16 {libname = "", libpath = "", pure = true, symbol = "__nv_asinhf"} : (f32) -> f32
    %v18 = tt.extern_elementwise %v17 {libname = "", libpath = "", pure = true, symbol = "__nv_acoshf"} : (f32) -> f32
    %v19 = tt.extern_elementwise %v18 {libname = "", libpath = "", pure = true, symbol = "atanhf"} : (f32) -> f32
    %v20 = tt.extern_elementwise %v19 {libname = "", libpath = "", pure = true, symbol = "__nv_sinpif"} : (f32) -> f32
    %v21 = tt.extern_elementwise %v20 {libname = "", libpath = "", pure = true, symbol = "__nv_cospif"} : (f32) -> f32
    %v22 = tt.extern_elementwise %v21 {libname = "", libpath = "", pure = true, symbol = "sqrtf"} : (f32) -> f32
    %v23 = tt.extern_elementwise %v22 {libname = "", libpath = "", pure = true, symbol = "__nv_rsqrtf"} : (f32) -> f32
    %v24 = tt.extern_elementwise %v23 {libname = "", libpath = "", pure = true, symbol = "__nv_rsqrtf"} : (f32) -> f32
    %v25 = tt.extern_elementwise %v24 {libname = "", libpath = "", pure = true, symbol = "fabsf"} : (f32) -> f32
    %v26 = tt.extern_elementwise %v25 {libname = "", libpath = "", pure = true, symbol = "__nv_floorf"} : (f32) -> f32
    %v27 = tt.extern_elementwise %v26 {libname = "", libpath = "", pure = true, symbol = "__nv_ceilf"} : (f32) -> f32
    %v28 = tt.extern_elementwise %v27 {libname = "", libpath = "", pure = true, symbol = "truncf"} : (f32) -> f32
    %v29 = tt.extern_elementwise %v28 {libname = "", libpath = "", pure = true, symbol = "__nv_roundf"} : (f32) -> f32
    %v30 = tt.extern_elementwise %v29 {libname = "", libpath = "", pure = true, symbol = "__nv_rintf"} : (f32) -> f32
    %v31 = tt.extern_elementwise %v30 {libname = "", libpath = "", pure = true, symbol = "log1pf"} : (f32) -> f32
    %v32 = tt.extern_elementwise %v31 {libname = "", libpath = "", pure = true, symbol = "__nv_expm1f"} : (f32) -> f32
    %v33 = tt.extern_elementwise %v32 {libname = "", libpath = "", pure = true, symbol = "__nv_cbrtf"} : (f32) -> f32
    %v34 = tt.extern_elementwise %v33 {libname = "", libpath = "", pure = true, symbol = "erff"} : (f32) -> f32
    %v35 = tt.extern_elementwise %v34 {libname = "", libpath = "", pure = true, symbol = "__nv_frcp_rn"} : (f32) -> f32
    %v36 = tt.extern_elementwise %v35 {libname = "", libpath = "", pure = true, symbol = "__nv_saturatef"} : (f32) -> f32
    %v37 = tt.extern_elementwise %v36, %v0 {libname = "", libpath = "", pure = true, symbol = "__nv_powf"} : (f32, f32) -> f32
    %v38 = tt.extern_elementwise %v37, %v0 {libname = "", libpath = "", pure = true, symbol = "__nv_atan2f"} : (f32, f32) -> f32
    %v39 = tt.extern_elementwise %v38, %v0 {libname = "", libpath = "", pure = true, symbol = "__nv_fmodf"} : (f32, f32) -> f32
    %v40 = tt.extern_elementwise %v39, %v0 {libname = "", libpath = "", pure = true, symbol = "__nv_fmaxf"} : (f32, f32) -> f32
    %v41 = tt.extern_elementwise %v40, %v0 {libname = "", libpath = "", pure = true, symbol = "__nv_fminf"} : (f32, f32) -> f32
    %v42 = tt.extern_elementwise %v41, %v0 {libname = "", libpath = "", pure = true, symbol = "__nv_nextafterf"} : (f32, f32) -> f32
    %v43 = tt.extern_elementwise %v42, %v0 {libname = "", libpath = "", pure = true, symbol = "__nv_hypotf"} : (f32, f32) -> f32
    %v44 = tt.extern_elementwise %v43, %v0 {libname = "", libpath = "", pure = true, symbol = "__nv_copysignf"} : (f32, f32) -> f32
    %v45 = tt.extern_elementwise %v44, %v0 {libname = "", libpath = "", pure = true, symbol = "__nv_fdimf"} : (f32, f32) -> f32
    %v46 = tt.extern_elementwise %v45, %v0 {libname = "", libpath = "", pure = true, symbol = "__nv_fadd_rn"} : (f32, f32) -> f32
    %v47 = tt.extern_elementwise %v46, %v0 {libname = "", libpath = "", pure = true, symbol = "__nv_fdiv_rn"} : (f32, f32) -> f32
    %v48 = tt.extern_elementwise %v47, %i {libname = "", libpath = "", pure = true, symbol = "__nv_ldexpf"} : (f32, i32) -> f32
    tm.store %p, %v48 {align = 4 : i32} : (!tt.ptr<f32>, f32) -> ()
    %isnanf = tt.extern_elementwise %v0 {libname = "", libpath = "", pure = true, symbol = "__nv_isnanf"} : (f32) -> i32
    %isinff = tt.extern_elementwise %v0 {libname = "", libpath = "", pure = true, symbol = "__nv_isinff"} : (f32) -> i32
    %finitef = tt.extern_elementwise %v0 {libname = "", libpath = "", pure = true, symbol = "__nv_finitef"} : (f32) -> i32
    %llrintf = tt.extern_elementwise %v0 {libname = "", libpath = "", pure = true, symbol = "__nv_llrintf"} : (f32) -> i64
    %q1 = arith.addi %isnanf, %isinff : i32
    %q2 = arith.addi %q1, %finitef : i32
    %xabs = tt.extern_elementwise %q2 {libname = "", libpath = "", pure = true, symbol = "__nv_abs"} : (i32) -> i32
    %xpopc = tt.extern_elementwise %xabs {libname = "", libpath = "", pure = true, symbol = "__nv_popc"} : (i32) -> i32
    %xclz = tt.extern_elementwise %xpopc {libname = "", libpath = "", pure = true, symbol = "__nv_clz"} : (i32) -> i32
    %xffs = tt.extern_elementwise %xclz {libname = "", libpath = "", pure = true, symbol = "__nv_ffs"} : (i32) -> i32
    %xmin = tt.extern_elementwise %xffs, %i {libname = "", libpath = "", pure = true, symbol = "__nv_min"} : (i32, i32) -> i32
    %xumax = tt.extern_elementwise %xmin, %i {libname = "", libpath = "", pure = true, symbol = "__nv_umax"} : (i32, i32) -> i32
    %xmulhi = tt.extern_elementwise %xumax, %i {libname = "", libpath = "", pure = true, symbol = "__nv_mulhi"} : (i32, i32) -> i32
    %xumulhi = tt.extern_elementwise %xmulhi, %i {libname = "", libpath = "", pure = true, symbol = "__nv_umulhi"} : (i32, i32) -> i32
    tm.store %q, %xumulhi {align = 4 : i32} : (!tt.ptr<i32>, i32) -> ()
    tt.return
  }
}
