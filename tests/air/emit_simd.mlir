// RUN: tm-emit --passes=plan,barriers --macos=15 %s | filecheck %s
// RUN: tm-emit --passes=plan,barriers --macos=26 %s | filecheck --check-prefix=NEW %s
// RUN: tm-emit --passes=plan,barriers --macos=15 %s | llvm-as-14 - -o /dev/null
// RUN: for v in 13 14 15 26; do tm-emit --passes=plan,barriers --macos=$v --bitcode %s >%t.$v.w && opt-14 -mtriple=x86_64 -passes=verify %t.$v.w -o /dev/null || exit 1; done
// Shuffles by width, reductions, matrices in both signatures, threadgroup memory, barriers.
// CHECK: @threadgroup_memory = internal unnamed_addr addrspace(3) global [64 x float] undef, align 16
// CHECK: call float @air.simd_shuffle_xor.f32(float %{{[0-9]+}}, i16 4)
// CHECK: call i32 @air.simd_shuffle_xor.u.i32
// CHECK: call i32 @air.simd_shuffle_xor.u.i32
// CHECK: call <2 x i32> @air.simd_shuffle.u.v2i32(<2 x i32> %{{[0-9]+}}, i16
// CHECK: zext i1 %{{[0-9]+}} to i32
// CHECK: call float @air.simd_sum.f32
// CHECK: call i32 @air.simd_max.u.i32
// CHECK: call void @air.wg.barrier(i32 2, i32 1)
// CHECK: call <64 x half> @air.simdgroup_matrix_8x8_load.v64f16.p3f16(half addrspace(3)* %{{[0-9]+}}, i64 8, <2 x i64> zeroinitializer, i1 true)
// CHECK: call <64 x float> @air.simdgroup_matrix_8x8_init_filled.v64f32.f32(float 0.000000e+00)
// CHECK: call <64 x float> @air.simdgroup_matrix_8x8_multiply_accumulate.v64f32.v64f16.v64f16.v64f32
// CHECK: extractelement <64 x float> %{{[0-9]+}}, i64 1
// CHECK: call void @air.simdgroup_matrix_8x8_store.v64f32.p1f32(<64 x float> %{{[0-9]+}}, float addrspace(1)* %{{[0-9]+}}, i64 16, <2 x i64> zeroinitializer, i1 false)
// NEW: call <64 x half> @air.simdgroup_matrix_8x8_load.v64f16.p3f16(half addrspace(3)* %{{[0-9]+}}, <2 x i64> <i64 8, i64 8>, <2 x i64> <i64 8, i64 1>, <2 x i64> zeroinitializer)
// NEW: call void @air.simdgroup_matrix_8x8_store.v64f32.p1f32(<64 x float> %{{[0-9]+}}, float addrspace(1)* %{{[0-9]+}}, <2 x i64> <i64 16, i64 8>, <2 x i64> <i64 1, i64 16>, <2 x i64> zeroinitializer)
module {
  tt.func public @k(%p: !tt.ptr<f32>, %q: !tt.ptr<i64>) {
    %zero = arith.constant 0.0 : f32
    %lane = tm.lane_id : () -> i32
    %warp = tm.warp_id : () -> i32
    %alloc = tm.tg_alloc {bytes = 256 : i32, align = 16 : i32} : () -> !tt.ptr<i8, 3>
    %sh = tt.bitcast %alloc : !tt.ptr<i8, 3> -> !tt.ptr<f16, 3>
    %pl = tt.addptr %p, %lane : !tt.ptr<f32>, i32
    %v = tm.load %pl {align = 4 : i32} : (!tt.ptr<f32>) -> f32
    %x = tm.shuffle_xor %v {mask = 4 : i32} : (f32) -> f32
    %l = tm.load %q {align = 8 : i32} : (!tt.ptr<i64>) -> i64
    %lx = tm.shuffle_xor %l {mask = 1 : i32} : (i64) -> i64
    %ls = tm.shuffle %lx, %lane : (i64, i32) -> i64
    %b = arith.cmpf olt, %x, %v : f32
    %bs = tm.shuffle %b, %warp : (i1, i32) -> i1
    %sum = tm.simd_reduce %x {kind = 0 : i32} : (f32) -> f32
    %mx = tm.simd_reduce %lane {kind = 6 : i32} : (i32) -> i32
    %h = arith.truncf %sum : f32 to f16
    %shl = tt.addptr %sh, %mx : !tt.ptr<f16, 3>, i32
    tm.store %shl, %h {align = 2 : i32} : (!tt.ptr<f16, 3>, f16) -> ()
    %a = tm.matrix_load %sh {stride = 8 : i32, transposed = true} : (!tt.ptr<f16, 3>) -> !tm.matrix<f16>
    %m = tm.matrix_make %h, %h : (f16, f16) -> !tm.matrix<f16>
    %c = tm.matrix_fill %zero : (f32) -> !tm.matrix<f32>
    %d = tm.matrix_mma %a, %m, %c : (!tm.matrix<f16>, !tm.matrix<f16>, !tm.matrix<f32>) -> !tm.matrix<f32>
    %e = tm.matrix_get %d {index = 1 : i32} : (!tm.matrix<f32>) -> f32
    %es = arith.select %bs, %e, %v : f32
    tm.store %pl, %es {align = 4 : i32} : (!tt.ptr<f32>, f32) -> ()
    tm.store %q, %ls {align = 8 : i32} : (!tt.ptr<i64>, i64) -> ()
    tm.matrix_store %p, %d {stride = 16 : i32, transposed = false} : (!tt.ptr<f32>, !tm.matrix<f32>) -> ()
    tt.return
  }
}
