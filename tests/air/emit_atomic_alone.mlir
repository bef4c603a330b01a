// RUN: tm-emit --macos=15 %s | filecheck %s
// The one atomic of a kernel that stores nothing needs no fence, whatever its order.
// CHECK: call float @air.atomic.global.add.f32
// CHECK-NOT: air.atomic.fence
module {
  tt.func public @k(%p: !tt.ptr<f32>, %x: f32) {
    %a = tm.atomic_rmw %p, %x {op = 5 : i32, sem = 4 : i32, scope = 1 : i32} : (!tt.ptr<f32>, f32) -> f32
    tt.return
  }
}
