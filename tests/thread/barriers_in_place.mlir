// RUN: tm-emit --passes=plan,barriers --warps=4 %s | filecheck %s
// RUN: tm-emit --passes=plan,barriers --warps=1 %s | filecheck --check-prefix=ONE %s
// Story: a tensor transposed in place was wrong with several simdgroups: one stored what another had yet
// to load. A store through another address than the loads of its argument waits for them; the load of the
// next round, which upstream leaves to the kernel, does not.
// CHECK: scf.for
// CHECK-NEXT: tm.load
// CHECK-NEXT: tm.barrier {flags = 1 : i32}
// CHECK-NEXT: tm.store
// CHECK-NOT: tm.barrier
// CHECK: tt.return
// ONE-NOT: tm.barrier
module {
  tt.func public @k(%p: !tt.ptr<f32>, %n: i32) {
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    %c32 = arith.constant 32 : i32
    %lane = tm.lane_id : () -> i32
    %warp = tm.warp_id : () -> i32
    %t0 = arith.muli %warp, %c32 : i32
    %t = arith.ori %t0, %lane : i32
    %u0 = arith.muli %lane, %c32 : i32
    %u = arith.addi %u0, %warp : i32
    %from = tt.addptr %p, %t : !tt.ptr<f32>, i32
    %to = tt.addptr %p, %u : !tt.ptr<f32>, i32
    scf.for %i = %c0 to %n step %c1  : i32 {
      %v = tm.load %from {align = 4 : i32} : (!tt.ptr<f32>) -> f32
      tm.store %to, %v {align = 4 : i32} : (!tt.ptr<f32>, f32) -> ()
    }
    tt.return
  }
}
