// RUN: not tm-emit --macos=15 %s 2>&1 | filecheck %s
// CHECK: TM4308: the library function '__nv_lgammaf' with these types has no counterpart
module {
  tt.func public @k(%p: !tt.ptr<f32>) {
    %v = tm.load %p {align = 4 : i32} : (!tt.ptr<f32>) -> f32
    %l = tt.extern_elementwise %v {libname = "", libpath = "", pure = true, symbol = "__nv_lgammaf"} : (f32) -> f32
    tm.store %p, %l {align = 4 : i32} : (!tt.ptr<f32>, f32) -> ()
    tt.return
  }
}
