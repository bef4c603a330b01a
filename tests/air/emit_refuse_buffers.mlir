// RUN: not tm-emit --macos=15 %s 2>&1 | filecheck %s
// 31 pointers fill all buffers; the scalar's is one too many.
// CHECK: TM4303: 31 pointer arguments are more than a Metal kernel can bind
module {
  tt.func public @k(%a0: !tt.ptr<f32>, %a1: !tt.ptr<f32>, %a2: !tt.ptr<f32>, %a3: !tt.ptr<f32>, %a4: !tt.ptr<f32>, %a5: !tt.ptr<f32>, %a6: !tt.ptr<f32>, %a7: !tt.ptr<f32>, %a8: !tt.ptr<f32>, %a9: !tt.ptr<f32>, %a10: !tt.ptr<f32>, %a11: !tt.ptr<f32>, %a12: !tt.ptr<f32>, %a13: !tt.ptr<f32>, %a14: !tt.ptr<f32>, %a15: !tt.ptr<f32>, %a16: !tt.ptr<f32>, %a17: !tt.ptr<f32>, %a18: !tt.ptr<f32>, %a19: !tt.ptr<f32>, %a20: !tt.ptr<f32>, %a21: !tt.ptr<f32>, %a22: !tt.ptr<f32>, %a23: !tt.ptr<f32>, %a24: !tt.ptr<f32>, %a25: !tt.ptr<f32>, %a26: !tt.ptr<f32>, %a27: !tt.ptr<f32>, %a28: !tt.ptr<f32>, %a29: !tt.ptr<f32>, %a30: !tt.ptr<f32>, %n: i32) {
    tt.return
  }
}
