// RUN: tm-emit --passes=plan,barriers %s | filecheck %s
// A loop that fills two tiles and reads both needs exactly two barriers: before the reads, and before
// the next turn's stores. Filling one allocation by several stores needs none between them.
// CHECK: scf.for
// CHECK-NEXT: tm.barrier {flags = 2 : i32}
// CHECK-NEXT: tm.store
// CHECK-NEXT: tm.store
// CHECK-NEXT: tm.store
// CHECK-NEXT: tm.barrier {flags = 2 : i32}
// CHECK-NEXT: tm.load
// CHECK-NEXT: tm.load
// CHECK-NOT: tm.barrier
// CHECK: tt.return
module {
  tt.func public @k(%p: !tt.ptr<f32>, %n: i32) {
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    %zero = arith.constant 0.0 : f32
    %lane = tm.lane_id : () -> i32
    %a = tm.tg_alloc {bytes = 256 : i32, align = 16 : i32} : () -> !tt.ptr<f32, 3>
    %b = tm.tg_alloc {bytes = 128 : i32, align = 16 : i32} : () -> !tt.ptr<f32, 3>
    %pa = tt.addptr %a, %lane : !tt.ptr<f32, 3>, i32
    %pa2 = tt.addptr %pa, %c1 : !tt.ptr<f32, 3>, i32
    %pb = tt.addptr %b, %lane : !tt.ptr<f32, 3>, i32
    %r = scf.for %i = %c0 to %n step %c1 iter_args(%acc = %zero) -> (f32)  : i32 {
      tm.store %pa, %acc {align = 4 : i32} : (!tt.ptr<f32, 3>, f32) -> ()
      tm.store %pa2, %acc {align = 4 : i32} : (!tt.ptr<f32, 3>, f32) -> ()
      tm.store %pb, %acc {align = 4 : i32} : (!tt.ptr<f32, 3>, f32) -> ()
      %x = tm.load %a {align = 4 : i32} : (!tt.ptr<f32, 3>) -> f32
      %y = tm.load %b {align = 4 : i32} : (!tt.ptr<f32, 3>) -> f32
      %s = arith.addf %x, %y : f32
      scf.yield %s : f32
    }
    tm.store %p, %r {align = 4 : i32} : (!tt.ptr<f32>, f32) -> ()
    tt.return
  }
}
