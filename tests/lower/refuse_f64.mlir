// RUN: not tm-opt lower < %s 2>&1 | filecheck %s
// CHECK: error TM2202: tt.load works on f64
#line = #ttg.linear<{register = [], lane = [[1], [2], [4], [8], [16]], warp = [[0], [0]], block = []}>
module {
  tt.func public @kernel(%p: !tt.ptr<f64>, %n: i32, %c: i1) {
    %0 = tt.load %p : !tt.ptr<f64>
    tt.return
  }
}
