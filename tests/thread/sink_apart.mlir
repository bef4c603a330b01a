// RUN: tm-emit --passes=sink %s | filecheck %s
// RUN: tm-emit --passes=sink --limit=64 %s | filecheck --check-prefix=TIGHT %s
// A load may pass a store to another allocation when there is memory for both at once.
// CHECK: tm.store
// CHECK-NEXT: tm.store
// CHECK-NEXT: tm.load
// TIGHT: tm.store
// TIGHT-NEXT: tm.load
// TIGHT-NEXT: tm.store
module {
  tt.func public @k(%p: !tt.ptr<f32>) {
    %zero = arith.constant 0.0 : f32
    %a = tm.tg_alloc {bytes = 32 : i32, align = 16 : i32} : () -> !tt.ptr<f32, 3>
    %b = tm.tg_alloc {bytes = 32 : i32, align = 16 : i32} : () -> !tt.ptr<f32, 3>
    tm.store %a, %zero {align = 4 : i32} : (!tt.ptr<f32, 3>, f32) -> ()
    %x = tm.load %a {align = 4 : i32} : (!tt.ptr<f32, 3>) -> f32
    tm.store %b, %zero {align = 4 : i32} : (!tt.ptr<f32, 3>, f32) -> ()
    %y = tm.load %b {align = 4 : i32} : (!tt.ptr<f32, 3>) -> f32
    %s = arith.addf %x, %y : f32
    tm.store %p, %s {align = 4 : i32} : (!tt.ptr<f32>, f32) -> ()
    tt.return
  }
}
