// RUN: tm-emit --passes=plan,barriers --warps=4 %s | filecheck %s
// RUN: tm-emit --passes=plan,barriers --warps=1 %s | filecheck --check-prefix=ONE %s
// Every simdgroup loads the scalar; the store by one thread must not overtake those loads. An element
// that its own thread loads and stores needs nothing. A single simdgroup needs nothing at all.
// CHECK: tm.load
// CHECK-NEXT: tm.barrier {flags = 1 : i32}
// CHECK-NEXT: scf.if
// CHECK-NEXT: tm.store
// CHECK-NOT: tm.barrier
// CHECK: tt.return
// ONE-NOT: tm.barrier
module {
  tt.func public @k(%p: !tt.ptr<f32>, %q: !tt.ptr<f32>) {
    %c0 = arith.constant 0 : i32
    %c32 = arith.constant 32 : i32
    %lane = tm.lane_id : () -> i32
    %warp = tm.warp_id : () -> i32
    %t0 = arith.muli %warp, %c32 : i32
    %t = arith.ori %t0, %lane : i32
    %first = arith.cmpi eq, %t, %c0 : i32
    %s = tm.load %p {align = 4 : i32} : (!tt.ptr<f32>) -> f32
    scf.if %first {
      tm.store %p, %s {align = 4 : i32} : (!tt.ptr<f32>, f32) -> ()
    }
    %qt = tt.addptr %q, %t : !tt.ptr<f32>, i32
    %v = tm.load %qt {align = 4 : i32} : (!tt.ptr<f32>) -> f32
    tm.store %qt, %v {align = 4 : i32} : (!tt.ptr<f32>, f32) -> ()
    tt.return
  }
}
