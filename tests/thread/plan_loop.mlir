// RUN: tm-emit --passes=plan --limit=200 %s | filecheck %s
// RUN: tm-emit --passes=plan %s | filecheck --check-prefix=ROOM %s
// RUN: not tm-emit --passes=plan --limit=64 %s 2>&1 | filecheck --check-prefix=LIMIT %s
// What is written in a loop may be read in its next turn: %a lives through the loop and meets %b,
// although their accesses lie apart in the body. What is made in the body shares memory only when
// there is too little of it.
// CHECK: tm.tg_alloc {{.*}}bytes = 64{{.*}}offset = 0
// CHECK: tm.tg_alloc {{.*}}bytes = 32{{.*}}offset = 64
// CHECK: scf.for
// CHECK: tm.tg_alloc {{.*}}bytes = 16{{.*}}offset = [[SAME:[0-9]+]]
// CHECK: tm.tg_alloc {{.*}}bytes = 16{{.*}}offset = [[SAME]]
// ROOM: scf.for
// ROOM: tm.tg_alloc {{.*}}offset = 96
// ROOM: tm.tg_alloc {{.*}}offset = 112
// LIMIT: TM2301: the kernel needs 112 bytes of threadgroup memory, the target has 64
module {
  tt.func public @k(%p: !tt.ptr<f32>, %n: i32) {
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    %a = tm.tg_alloc {bytes = 64 : i32, align = 16 : i32} : () -> !tt.ptr<f32, 3>
    %b = tm.tg_alloc {bytes = 32 : i32, align = 16 : i32} : () -> !tt.ptr<f32, 3>
    %v = tm.load %p {align = 4 : i32} : (!tt.ptr<f32>) -> f32
    scf.for %i = %c0 to %n step %c1  : i32 {
      %c = tm.tg_alloc {bytes = 16 : i32, align = 16 : i32} : () -> !tt.ptr<f32, 3>
      %d = tm.tg_alloc {bytes = 16 : i32, align = 16 : i32} : () -> !tt.ptr<f32, 3>
      tm.store %a, %v {align = 4 : i32} : (!tt.ptr<f32, 3>, f32) -> ()
      %x = tm.load %a {align = 4 : i32} : (!tt.ptr<f32, 3>) -> f32
      tm.store %b, %x {align = 4 : i32} : (!tt.ptr<f32, 3>, f32) -> ()
      %y = tm.load %b {align = 4 : i32} : (!tt.ptr<f32, 3>) -> f32
      tm.store %c, %y {align = 4 : i32} : (!tt.ptr<f32, 3>, f32) -> ()
      %z = tm.load %c {align = 4 : i32} : (!tt.ptr<f32, 3>) -> f32
      tm.store %d, %z {align = 4 : i32} : (!tt.ptr<f32, 3>, f32) -> ()
      %w = tm.load %d {align = 4 : i32} : (!tt.ptr<f32, 3>) -> f32
      tm.store %p, %w {align = 4 : i32} : (!tt.ptr<f32>, f32) -> ()
    }
    tt.return
  }
}
