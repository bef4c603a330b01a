// RUN: not tm-opt lower < %s 2>&1 | filecheck %s
// CHECK: error TM2205: a tensor of 131072 elements needs 1024 registers per thread; 512 are the limit
#line = #ttg.linear<{register = [[1], [2], [4], [8], [16], [32], [64], [128], [256], [512]], lane = [[1024], [2048], [4096], [8192], [16384]], warp = [[32768], [65536]], block = []}>
module {
  tt.func public @kernel(%p: !tt.ptr<f64>, %n: i32, %c: i1) {
    %0 = tt.make_range {end = 131072 : i32, start = 0 : i32} : tensor<131072xi32, #line>
    tt.return
  }
}
