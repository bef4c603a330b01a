// RUN: tm-emit --passes=plan %s | filecheck %s
// Two allocations with intervals apart share memory; a third that meets both does not. One that is
// only used in a loop it is outside of lives through the whole loop.
// CHECK: tm.tg_alloc {{.*}}bytes = 64{{.*}}offset = 0
// CHECK: tm.tg_alloc {{.*}}bytes = 32{{.*}}offset = 64
// CHECK: tm.tg_alloc {{.*}}bytes = 16{{.*}}offset = 0
module {
  tt.func public @k(%p: !tt.ptr<f32>) {
    %a = tm.tg_alloc {bytes = 64 : i32, align = 16 : i32} : () -> !tt.ptr<f32, 3>
    %b = tm.tg_alloc {bytes = 32 : i32, align = 16 : i32} : () -> !tt.ptr<f32, 3>
    %c = tm.tg_alloc {bytes = 16 : i32, align = 16 : i32} : () -> !tt.ptr<f32, 3>
    %v = tm.load %p {align = 4 : i32} : (!tt.ptr<f32>) -> f32
    tm.store %a, %v {align = 4 : i32} : (!tt.ptr<f32, 3>, f32) -> ()
    tm.store %b, %v {align = 4 : i32} : (!tt.ptr<f32, 3>, f32) -> ()
    %x = tm.load %a {align = 4 : i32} : (!tt.ptr<f32, 3>) -> f32
    tm.store %c, %x {align = 4 : i32} : (!tt.ptr<f32, 3>, f32) -> ()
    %y = tm.load %c {align = 4 : i32} : (!tt.ptr<f32, 3>) -> f32
    %z = tm.load %b {align = 4 : i32} : (!tt.ptr<f32, 3>) -> f32
    %s = arith.addf %y, %z : f32
    tm.store %p, %s {align = 4 : i32} : (!tt.ptr<f32>, f32) -> ()
    tt.return
  }
}
