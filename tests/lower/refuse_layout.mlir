// RUN: not tm-opt lower < %s 2>&1 | filecheck %s
// CHECK: error TM2206: tt.make_range has a tensor without a layout
#line = #ttg.linear<{register = [], lane = [[1], [2], [4], [8], [16]], warp = [[0], [0]], block = []}>
module {
  tt.func public @kernel(%p: !tt.ptr<f64>, %n: i32, %c: i1) {
    %0 = tt.make_range {end = 32 : i32, start = 0 : i32} : tensor<32xi32>
    tt.return
  }
}
