// RUN: tm-opt canonicalize < %s | filecheck %s
module {
  // Uniform work is done once; what fills a tensor fills it at the end.
  // CHECK-LABEL: tt.func public @splats
  // CHECK: %[[P:.*]] = tt.addptr %arg0, %arg1 : !tt.ptr<f32>, i32
  // CHECK-NEXT: %[[PS:.*]] = tt.splat %[[P]] : !tt.ptr<f32> -> tensor<4x8x!tt.ptr<f32>>
  // CHECK-NEXT: %[[E:.*]] = math.exp %arg2 : f32
  // CHECK-NEXT: %[[ES:.*]] = tt.splat %[[E]] : f32 -> tensor<4x8xf32>
  // CHECK-NEXT: tt.store %[[PS]], %[[ES]]
  tt.func public @splats(%p: !tt.ptr<f32>, %n: i32, %x: f32) {
    %0 = tt.splat %p : !tt.ptr<f32> -> tensor<8x!tt.ptr<f32>>
    %1 = tt.splat %n : i32 -> tensor<8xi32>
    %2 = tt.addptr %0, %1 : tensor<8x!tt.ptr<f32>>, tensor<8xi32>
    %3 = tt.expand_dims %2 {axis = 0 : i32} : tensor<8x!tt.ptr<f32>> -> tensor<1x8x!tt.ptr<f32>>
    %4 = tt.broadcast %3 : tensor<1x8x!tt.ptr<f32>> -> tensor<4x8x!tt.ptr<f32>>
    %5 = tt.splat %x : f32 -> tensor<8x4xf32>
    %6 = math.exp %5 : tensor<8x4xf32>
    %7 = tt.trans %6 {order = array<i32: 1, 0>} : tensor<8x4xf32> -> tensor<4x8xf32>
    tt.store %4, %7 : tensor<4x8x!tt.ptr<f32>>
    tt.return
  }
  // CHECK-LABEL: tt.func public @broadcasts
  // CHECK: %[[S:.*]] = arith.muli %{{.*}}, %{{.*}} : tensor<4x1xi32>
  // CHECK: tt.broadcast %[[S]] : tensor<4x1xi32> -> tensor<4x8xi32>
  tt.func public @broadcasts(%p: tensor<4x8x!tt.ptr<i32>>, %n: i32) {
    %0 = tt.make_range {end = 4 : i32, start = 0 : i32} : tensor<4xi32>
    %1 = tt.expand_dims %0 {axis = 1 : i32} : tensor<4xi32> -> tensor<4x1xi32>
    %2 = tt.broadcast %1 : tensor<4x1xi32> -> tensor<4x8xi32>
    %3 = tt.splat %n : i32 -> tensor<4x8xi32>
    %4 = arith.muli %2, %3 : tensor<4x8xi32>
    tt.store %p, %4 : tensor<4x8x!tt.ptr<i32>>
    tt.return
  }
  // CHECK-LABEL: tt.func public @chains
  // CHECK-NEXT: tt.store %arg0, %arg2
  // CHECK-NEXT: %[[R:.*]] = tt.reshape %arg2 : tensor<4x8xf32> -> tensor<32xf32>
  // CHECK-NEXT: tt.store %arg1, %[[R]]
  // CHECK-NEXT: tt.store %arg1, %arg3
  tt.func public @chains(%p: tensor<4x8x!tt.ptr<f32>>, %q: tensor<32x!tt.ptr<f32>>, %a: tensor<4x8xf32>, %b: tensor<32xf32>) {
    %0 = tt.trans %a {order = array<i32: 1, 0>} : tensor<4x8xf32> -> tensor<8x4xf32>
    %1 = tt.trans %0 {order = array<i32: 1, 0>} : tensor<8x4xf32> -> tensor<4x8xf32>
    tt.store %p, %1 : tensor<4x8x!tt.ptr<f32>>
    %2 = tt.reshape %1 : tensor<4x8xf32> -> tensor<2x16xf32>
    %3 = tt.reshape %2 : tensor<2x16xf32> -> tensor<32xf32>
    tt.store %q, %3 : tensor<32x!tt.ptr<f32>>
    %4 = tt.join %b, %b : tensor<32xf32> -> tensor<32x2xf32>
    %5, %6 = tt.split %4 : tensor<32x2xf32> -> tensor<32xf32>
    tt.store %q, %6 : tensor<32x!tt.ptr<f32>>
    tt.return
  }
  // The sum of a product and an accumulator is one dot.
  // CHECK-LABEL: tt.func public @accumulate
  // CHECK-NEXT: %[[D:.*]] = tt.dot %arg1, %arg2, %arg3
  // CHECK-NEXT: tt.store %arg0, %[[D]]
  tt.func public @accumulate(%p: tensor<16x16x!tt.ptr<f32>>, %a: tensor<16x16xf16>, %b: tensor<16x16xf16>, %c: tensor<16x16xf32>) {
    %zero = arith.constant dense<0.0> : tensor<16x16xf32>
    %0 = tt.dot %a, %b, %zero : tensor<16x16xf16> * tensor<16x16xf16> -> tensor<16x16xf32>
    %1 = arith.addf %c, %0 : tensor<16x16xf32>
    tt.store %p, %1 : tensor<16x16x!tt.ptr<f32>>
    tt.return
  }
  // Concatenation: the operands as rows, then flat.
  // CHECK-LABEL: tt.func public @cat
  // CHECK-NEXT: %[[J:.*]] = tt.join %arg1, %arg2 : tensor<8xi32> -> tensor<8x2xi32>
  // CHECK-NEXT: %[[T:.*]] = tt.trans %[[J]] {order = array<i32: 1, 0>} : tensor<8x2xi32> -> tensor<2x8xi32>
  // CHECK-NEXT: %[[R:.*]] = tt.reshape %[[T]] : tensor<2x8xi32> -> tensor<16xi32>
  // CHECK-NEXT: tt.store %arg0, %[[R]]
  tt.func public @cat(%p: tensor<16x!tt.ptr<i32>>, %a: tensor<8xi32>, %b: tensor<8xi32>) {
    %0 = tt.cat %a, %b : tensor<8xi32> -> tensor<16xi32>
    tt.store %p, %0 : tensor<16x!tt.ptr<i32>>
    tt.return
  }
}
