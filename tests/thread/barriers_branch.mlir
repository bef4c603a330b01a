// RUN: tm-emit --passes=plan,barriers %s | filecheck %s
// A masked read takes its barrier before the branch that threads enter apart; the two branches after
// it read only, so nothing more is needed. The uniform branch may hold one itself.
// CHECK-LABEL: tt.func public @k
// CHECK: scf.if
// CHECK-NEXT: tm.store
// CHECK: tm.barrier {flags = 2 : i32}
// CHECK-NEXT: scf.if
// CHECK-NEXT: tm.load
// CHECK-NOT: tm.barrier
// CHECK: scf.if %arg1
// CHECK-NEXT: tm.barrier {flags = 2 : i32}
// CHECK-NEXT: tm.store
// CHECK: tt.return
module {
  tt.func public @k(%arg0: !tt.ptr<f32>, %arg1: i1) {
    %c3 = arith.constant 3 : i32
    %zero = arith.constant 0.0 : f32
    %lane = tm.lane_id : () -> i32
    %few = arith.cmpi slt, %lane, %c3 : i32
    %a = tm.tg_alloc {bytes = 256 : i32, align = 16 : i32} : () -> !tt.ptr<f32, 3>
    %pa = tt.addptr %a, %lane : !tt.ptr<f32, 3>, i32
    scf.if %few {
      tm.store %pa, %zero {align = 4 : i32} : (!tt.ptr<f32, 3>, f32) -> ()
    }
    %x = scf.if %few -> (f32) {
      %v = tm.load %a {align = 4 : i32} : (!tt.ptr<f32, 3>) -> f32
      scf.yield %v : f32
    } else {
      scf.yield %zero : f32
    }
    scf.if %arg1 {
      tm.store %pa, %x {align = 4 : i32} : (!tt.ptr<f32, 3>, f32) -> ()
    }
    tt.return
  }
}
