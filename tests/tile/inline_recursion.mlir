// RUN: not tm-opt inline < %s 2>&1 | filecheck %s
// CHECK: error TM2001: 'even' calls itself
module {
  tt.func public @kernel(%n: i32) {
    tt.call @even(%n) : (i32) -> ()
    tt.return
  }
  tt.func private @even(%n: i32) {
    tt.call @odd(%n) : (i32) -> ()
    tt.return
  }
  tt.func private @odd(%n: i32) {
    tt.call @even(%n) : (i32) -> ()
    tt.return
  }
}
