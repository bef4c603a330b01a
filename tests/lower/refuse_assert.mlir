// RUN: not tm-opt lower < %s 2>&1 | filecheck %s
// CHECK: error TM2201: tt.assert is not supported
#line = #ttg.linear<{register = [], lane = [[1], [2], [4], [8], [16]], warp = [[0], [0]], block = []}>
module {
  tt.func public @kernel(%p: !tt.ptr<f64>, %n: i32, %c: i1) {
    tt.assert %c, "no" : i1
    tt.return
  }
}
