// RUN: not tm-opt inline < %s 2>&1 | filecheck %s
// CHECK: error TM2006: call of 'elsewhere'
module {
  tt.func public @kernel(%n: i32) {
    tt.call @elsewhere(%n) : (i32) -> ()
    tt.return
  }
}
