// RUN: tm-emit --macos=15 %s | filecheck %s
// RUN: tm-emit --macos=15 %s | llvm-as-14 - -o /dev/null
// RUN: for v in 13 14 15 26; do tm-emit --macos=$v --bitcode %s >%t.$v.w && opt-14 -mtriple=x86_64 -passes=verify %t.$v.w -o /dev/null || exit 1; done
// Vector access through a cast of the scalar pointer; booleans in vectors are bytes; the pointers a
// pointer leads to are 64-bit integers in memory.
// CHECK: bitcast float addrspace(1)* %{{[0-9]+}} to <4 x float> addrspace(1)*
// CHECK-NEXT: load <4 x float>, <4 x float> addrspace(1)* %{{[0-9]+}}, align 16
// CHECK-NEXT: extractelement <4 x float> %{{[0-9]+}}, i64 2
// CHECK: load volatile <2 x i8>
// CHECK-NEXT: extractelement <2 x i8> %{{[0-9]+}}, i64 1
// CHECK-NEXT: icmp ne i8
// CHECK: insertelement <2 x i8> undef, i8
// CHECK: store <2 x i8>
// CHECK: call float @air.atomic.global.load.f32(float addrspace(1)* %{{[0-9]+}}, i32 0, i32 2, i1 true)
// CHECK: load i64, i64 addrspace(1)*
// CHECK: bitcast i64* %{{[0-9]+}} to float addrspace(1)**
module {
  tt.func public @k(%p: !tt.ptr<f32>, %q: !tt.ptr<i1>, %r: !tt.ptr<!tt.ptr<f32>>, %s: i64) {
    %v = tm.load %p {align = 16 : i32} : (!tt.ptr<f32>) -> vector<4xf32>
    %e = tm.vec_get %v {index = 2 : i32} : (vector<4xf32>) -> f32
    %b = tm.load %q {align = 2 : i32, volatile = true} : (!tt.ptr<i1>) -> vector<2xi1>
    %f = tm.vec_get %b {index = 1 : i32} : (vector<2xi1>) -> i1
    %w = tm.vec_make %f, %f : (i1, i1) -> vector<2xi1>
    tm.store %q, %w {align = 2 : i32} : (!tt.ptr<i1>, vector<2xi1>) -> ()
    %y = tm.load %p {align = 4 : i32, volatile = true} : (!tt.ptr<f32>) -> f32
    tm.store %p, %y {align = 4 : i32} : (!tt.ptr<f32>, f32) -> ()
    %t = tm.load %r {align = 8 : i32} : (!tt.ptr<!tt.ptr<f32>>) -> !tt.ptr<f32>
    tm.store %t, %e {align = 4 : i32} : (!tt.ptr<f32>, f32) -> ()
    %i = tt.ptr_to_int %t : !tt.ptr<f32> -> i64
    %j = arith.addi %i, %s : i64
    %u = tt.int_to_ptr %j : i64 -> !tt.ptr<f32>
    tm.store %u, %e {align = 4 : i32} : (!tt.ptr<f32>, f32) -> ()
    tt.return
  }
}
