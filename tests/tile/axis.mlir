// RUN: tm-opt none --axis < %s | filecheck %s
// Hints on ops and arguments; rows and columns of a matrix of pointers.
module {
  tt.func public @matrix(%p: !tt.ptr<f16> {tt.divisibility = 16 : i32}, %stride: i32 {tt.divisibility = 16 : i32}, %n: i32) {
    // CHECK: tt.make_range#0: contiguity=64 divisibility=1073741824 constancy=1
    %r = tt.make_range {end = 64 : i32, start = 0 : i32} : tensor<64xi32>
    %rows = tt.expand_dims %r {axis = 1 : i32} : tensor<64xi32> -> tensor<64x1xi32>
    // CHECK: tt.expand_dims#0: contiguity=1x64 {{.*}} constancy=1x1
    %cols = tt.expand_dims %r {axis = 0 : i32} : tensor<64xi32> -> tensor<1x64xi32>
    %s = tt.splat %stride : i32 -> tensor<64x1xi32>
    // CHECK: arith.muli#0: contiguity=1x1 divisibility=16x16 constancy=1x1
    %0 = arith.muli %rows, %s : tensor<64x1xi32>
    %1 = tt.broadcast %0 : tensor<64x1xi32> -> tensor<64x64xi32>
    %2 = tt.broadcast %cols : tensor<1x64xi32> -> tensor<64x64xi32>
    // CHECK: arith.addi#0: contiguity=1x64 divisibility=1x16 constancy=1x1
    %3 = arith.addi %1, %2 : tensor<64x64xi32>
    %4 = tt.splat %p : !tt.ptr<f16> -> tensor<64x64x!tt.ptr<f16>>
    // CHECK: tt.addptr#0: contiguity=1x64 divisibility=2x16 constancy=1x1
    %5 = tt.addptr %4, %3 : tensor<64x64x!tt.ptr<f16>>, tensor<64x64xi32>
    // CHECK: arith.remsi#0: contiguity=16 divisibility=16 constancy=1
    // CHECK: arith.remsi#0: contiguity=8 divisibility=32 constancy=4
    %6 = tt.splat %n : i32 -> tensor<64xi32>
    %7 = arith.remsi %r, %6 {tt.contiguity = dense<16> : tensor<1xi32>, tt.divisibility = dense<16> : tensor<1xi32>} : tensor<64xi32>
    %8 = arith.remsi %r, %6 {tt.contiguity = dense<8> : tensor<1xi32>, tt.divisibility = dense<32> : tensor<1xi32>, tt.constancy = dense<4> : tensor<1xi32>} : tensor<64xi32>
    tt.return
  }
}
