// RUN: not tm-opt lower < %s 2>&1 | filecheck %s
// CHECK: error TM2207: tt.make_range has a layout for 2 simdgroups where the kernel runs 4
#line = #ttg.linear<{register = [], lane = [[1], [2], [4], [8], [16]], warp = [[0]], block = []}>
module {
  tt.func public @kernel(%p: !tt.ptr<f64>, %n: i32, %c: i1) {
    %0 = tt.make_range {end = 32 : i32, start = 0 : i32} : tensor<32xi32, #line>
    tt.return
  }
}
