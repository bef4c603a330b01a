// RUN: tm-opt lower,dce < %s | filecheck %s
#frag = #ttg.linear<{register = [[0, 1]], lane = [[0, 2], [1, 0], [2, 0], [0, 4], [4, 0]], warp = [[0, 0], [0, 0]], block = []}>
#line = #ttg.linear<{register = [[1], [256]], lane = [[2], [4], [8], [16], [32]], warp = [[64], [128]], block = []}>
module {
  // An accumulator is carried as matrices, converted once before and once after the loop.
  // CHECK-LABEL: tt.func public @accumulate
  // CHECK: %[[A:.*]] = tm.matrix_make
  // CHECK: %[[R:.*]] = scf.for {{.*}} iter_args(%[[ARG:.*]] = {{.*}}) -> (!tm.matrix<f32>)
  // CHECK-NEXT: %[[M:.*]] = tm.matrix_mma %[[A]], %[[A]], %[[ARG]]
  // CHECK-NEXT: scf.yield %[[M]]
  // CHECK-NEXT: }
  // CHECK: tm.matrix_get %[[R]] {index = 0 : i32}
  // CHECK: tm.matrix_get %[[R]] {index = 1 : i32}
  tt.func public @accumulate(%p: !tt.ptr<f16>, %q: !tt.ptr<f32>, %n: i32) {
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    %zero = arith.constant dense<0.0> : tensor<8x8xf32, #frag>
    %0 = tt.splat %p : !tt.ptr<f16> -> tensor<8x8x!tt.ptr<f16>, #frag>
    %1 = tt.load %0 : tensor<8x8x!tt.ptr<f16>, #frag>
    %2 = scf.for %i = %c0 to %n step %c1 iter_args(%acc = %zero) -> (tensor<8x8xf32, #frag>) : i32 {
      %4 = tt.dot %1, %1, %acc : tensor<8x8xf16, #frag> * tensor<8x8xf16, #frag> -> tensor<8x8xf32, #frag>
      scf.yield %4 : tensor<8x8xf32, #frag>
    }
    %3 = tt.splat %q : !tt.ptr<f32> -> tensor<8x8x!tt.ptr<f32>, #frag>
    tt.store %3, %2 : tensor<8x8x!tt.ptr<f32>, #frag>
    tt.return
  }
  // Pointers that move by one scalar step are their first values plus one carried sum.
  // CHECK-LABEL: tt.func public @moving_pointers
  // CHECK: scf.for {{.*}} iter_args(%[[S:.*]] = %c0_i64) -> (i64)
  // CHECK-NEXT: tt.addptr {{.*}}, %[[S]] : !tt.ptr<f32>, i64
  // CHECK: tm.store
  // CHECK: %[[STEP:.*]] = arith.extsi %arg1 : i32 to i64
  // CHECK: %[[NEXT:.*]] = arith.addi %[[S]], %[[STEP]] : i64
  // CHECK: scf.yield %[[NEXT]] : i64
  tt.func public @moving_pointers(%p: !tt.ptr<f32> {tt.divisibility = 16 : i32}, %stride: i32, %n: i32) {
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    %one = arith.constant dense<1.0> : tensor<512xf32, #line>
    %0 = tt.make_range {end = 512 : i32, start = 0 : i32} : tensor<512xi32, #line>
    %1 = tt.splat %p : !tt.ptr<f32> -> tensor<512x!tt.ptr<f32>, #line>
    %2 = tt.addptr %1, %0 : tensor<512x!tt.ptr<f32>, #line>, tensor<512xi32, #line>
    %3 = tt.splat %stride : i32 -> tensor<512xi32, #line>
    %4 = scf.for %i = %c0 to %n step %c1 iter_args(%at = %2) -> (tensor<512x!tt.ptr<f32>, #line>) : i32 {
      tt.store %at, %one : tensor<512x!tt.ptr<f32>, #line>
      %5 = tt.addptr %at, %3 : tensor<512x!tt.ptr<f32>, #line>, tensor<512xi32, #line>
      scf.yield %5 : tensor<512x!tt.ptr<f32>, #line>
    }
    tt.return
  }
  // CHECK-LABEL: tt.func public @barrier
  // CHECK: tm.barrier {flags = 3 : i32}
  tt.func public @barrier() {
    ttg.barrier all
    tt.return
  }
}
