// RUN: tm-emit --macos=15 %s | filecheck %s
// RUN: tm-emit --macos=14 %s | filecheck --check-prefix=OLD %s
// RUN: tm-emit --macos=15 %s | llvm-as-14 - -o /dev/null
// RUN: for v in 13 14 15 26; do tm-emit --macos=$v --bitcode %s >%t.$v.w && opt-14 -mtriple=x86_64 -passes=verify %t.$v.w -o /dev/null || exit 1; done
// Native words; a loop on the word for halves; fences where AIR has them. An old value that only an
// unused branch result takes is not observed.
// CHECK: call i32 @air.atomic.global.add.u.i32(i32 addrspace(1)* %{{[0-9]+}}, i32 %{{[0-9]+}}, i32 0, i32 2, i1 true)
// CHECK: call void @air.atomic.fence(i32 1, i32 5, i32 2)
// CHECK: call float @air.atomic.global.add.f32(
// CHECK-NOT: air.atomic.fence
// CHECK: call i32 @air.atomic.global.load.i32
// CHECK: phi i32
// CHECK: call i32 @air.atomic.global.cmpxchg.weak.i32
// CHECK: br i1
// CHECK: store i32 0, i32*
// CHECK: call i32 @air.atomic.global.cmpxchg.weak.i32(i32 addrspace(1)* %{{[0-9]+}}, i32* %{{[0-9]+}}, i32 %{{[0-9]+}}, i32 0, i32 0, i32 2, i1 true)
// OLD-NOT: air.atomic.fence
module {
  tt.func public @k(%p: !tt.ptr<i32>, %f: !tt.ptr<f32>, %h: !tt.ptr<f16>, %x: i32, %y: f32, %z: f16) {
    %c0 = arith.constant 0 : i32
    %a = tm.atomic_rmw %p, %x {op = 4 : i32, sem = 2 : i32, scope = 1 : i32} : (!tt.ptr<i32>, i32) -> i32
    %t = arith.cmpi eq, %a, %c0 : i32
    %u = scf.if %t -> (f32) {
      %b = tm.atomic_rmw %f, %y {op = 5 : i32, sem = 2 : i32, scope = 1 : i32} : (!tt.ptr<f32>, f32) -> f32
      scf.yield %b : f32
    } else {
      scf.yield %y : f32
    }
    %c = tm.atomic_rmw %h, %z {op = 5 : i32, sem = 1 : i32, scope = 1 : i32} : (!tt.ptr<f16>, f16) -> f16
    %d = tm.atomic_cas %p, %c0, %a {sem = 1 : i32, scope = 1 : i32} : (!tt.ptr<i32>, i32, i32) -> i32
    tm.store %p, %d {align = 4 : i32} : (!tt.ptr<i32>, i32) -> ()
    tm.store %h, %c {align = 2 : i32} : (!tt.ptr<f16>, f16) -> ()
    tt.return
  }
}
