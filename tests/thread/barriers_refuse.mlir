// RUN: not tm-emit --passes=plan,barriers %s 2>&1 | filecheck %s
// CHECK: TM2302
module {
  tt.func public @k(%n: i32) {
    %zero = arith.constant 0.0 : f32
    %lane = tm.lane_id : () -> i32
    %few = arith.cmpi slt, %lane, %n : i32
    %a = tm.tg_alloc {bytes = 256 : i32, align = 16 : i32} : () -> !tt.ptr<f32, 3>
    %pa = tt.addptr %a, %lane : !tt.ptr<f32, 3>, i32
    scf.if %few {
      tm.store %pa, %zero {align = 4 : i32} : (!tt.ptr<f32, 3>, f32) -> ()
      %v = tm.load %a {align = 4 : i32} : (!tt.ptr<f32, 3>) -> f32
      tm.store %pa, %v {align = 4 : i32} : (!tt.ptr<f32, 3>, f32) -> ()
    }
    tt.return
  }
}
