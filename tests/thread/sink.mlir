// RUN: tm-emit --passes=sink %s | filecheck %s
// Both loads move down to their uses, in order; the third stays above the store that may change it,
// the fourth, of device memory, stays.
// CHECK: tm.store %{{.*}} : (!tt.ptr<f32, 3>, f32) -> ()
// CHECK-NEXT: %[[W:.*]] = tm.load %{{.*}} -> f32
// CHECK-NEXT: arith.negf
// CHECK-NEXT: %[[X:.*]] = tm.load
// CHECK-NEXT: %[[Y:.*]] = tm.load
// CHECK-NEXT: arith.addf %[[X]], %[[Y]]
// CHECK-NEXT: %[[Z:.*]] = tm.load
// CHECK-NEXT: tm.store
module {
  tt.func public @k(%p: !tt.ptr<f32>) {
    %c1 = arith.constant 1 : i32
    %zero = arith.constant 0.0 : f32
    %a = tm.tg_alloc {bytes = 256 : i32, align = 16 : i32} : () -> !tt.ptr<f32, 3>
    %a1 = tt.addptr %a, %c1 : !tt.ptr<f32, 3>, i32
    tm.store %a1, %zero {align = 4 : i32} : (!tt.ptr<f32, 3>, f32) -> ()
    %x = tm.load %a {align = 4 : i32} : (!tt.ptr<f32, 3>) -> f32
    %y = tm.load %a1 {align = 4 : i32} : (!tt.ptr<f32, 3>) -> f32
    %z = tm.load %a1 {align = 4 : i32} : (!tt.ptr<f32, 3>) -> f32
    %w = tm.load %p {align = 4 : i32} : (!tt.ptr<f32>) -> f32
    %n = arith.negf %w : f32
    %s = arith.addf %x, %y : f32
    tm.store %a1, %n {align = 4 : i32} : (!tt.ptr<f32, 3>, f32) -> ()
    %t = arith.addf %s, %z : f32
    tm.store %p, %t {align = 4 : i32} : (!tt.ptr<f32>, f32) -> ()
    tt.return
  }
}
