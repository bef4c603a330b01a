// RUN: tm-opt lower,dce --num-warps=2 < %s | filecheck %s
#row = #ttg.linear<{register = [[1], [2], [256]], lane = [[4], [8], [16], [32], [64]], warp = [[128]], block = []}>
#few = #ttg.linear<{register = [], lane = [[1], [2], [4], [0], [0]], warp = [[0]], block = []}>
module {
  // Four neighbours move at once under the first one's mask; register bit 2 makes a second group.
  // CHECK-LABEL: tt.func public @masked
  // CHECK: %[[L:.*]] = arith.addi
  // CHECK: %[[P:.*]] = tt.addptr %arg0, %[[L]]
  // CHECK: %[[M:.*]] = arith.cmpi slt, %[[L]], %arg2
  // CHECK: %[[V:.*]]:4 = scf.if %[[M]] -> (f16, f16, f16, f16) {
  // CHECK-NEXT: tm.load %[[P]] {align = 8 : i32} : (!tt.ptr<f16>) -> vector<4xf16>
  // CHECK: } else {
  // CHECK-NEXT: scf.yield %cst, %cst, %cst, %cst
  // CHECK: scf.if
  // CHECK: %[[W:.*]] = tm.vec_make %[[V]]#0, %[[V]]#1, %[[V]]#2, %[[V]]#3
  // CHECK-NEXT: tm.store {{.*}}, %[[W]] {align = 8 : i32}
  // CHECK: tm.vec_make
  // CHECK-NEXT: tm.store
  // CHECK-NOT: tm.store
  tt.func public @masked(%p: !tt.ptr<f16> {tt.divisibility = 16 : i32}, %q: !tt.ptr<f16> {tt.divisibility = 16 : i32}, %n: i32 {tt.divisibility = 16 : i32}) {
    %0 = tt.make_range {end = 512 : i32, start = 0 : i32} : tensor<512xi32, #row>
    %1 = tt.splat %p : !tt.ptr<f16> -> tensor<512x!tt.ptr<f16>, #row>
    %2 = tt.addptr %1, %0 : tensor<512x!tt.ptr<f16>, #row>, tensor<512xi32, #row>
    %3 = tt.splat %n : i32 -> tensor<512xi32, #row>
    %4 = arith.cmpi slt, %0, %3 : tensor<512xi32, #row>
    %5 = tt.load %2, %4 : tensor<512x!tt.ptr<f16>, #row>
    %6 = tt.splat %q : !tt.ptr<f16> -> tensor<512x!tt.ptr<f16>, #row>
    %7 = tt.addptr %6, %0 : tensor<512x!tt.ptr<f16>, #row>, tensor<512xi32, #row>
    tt.store %7, %5 : tensor<512x!tt.ptr<f16>, #row>
    tt.return
  }
  // Of threads that hold the same element one stores; a scalar is stored by thread 0.
  // CHECK-LABEL: tt.func public @copies
  // CHECK: %[[E:.*]] = arith.andi %0, %c7_i32
  // CHECK: arith.andi %0, %c24_i32
  // CHECK: %[[OWN:.*]] = arith.cmpi eq, {{.*}}, %c0_i32
  // CHECK: %[[ONE:.*]] = arith.cmpi eq, {{.*}}, %c0_i32
  // CHECK: scf.if %[[OWN]] {
  // CHECK-NEXT: tm.store {{.*}}, %[[E]] {align = 4 : i32}
  // CHECK-NEXT: }
  // CHECK-NEXT: scf.if %[[ONE]] {
  // CHECK-NEXT: tm.store %arg0, %c1_i32
  tt.func public @copies(%p: !tt.ptr<i32>) {
    %0 = tt.make_range {end = 8 : i32, start = 0 : i32} : tensor<8xi32, #few>
    %1 = tt.splat %p : !tt.ptr<i32> -> tensor<8x!tt.ptr<i32>, #few>
    %2 = tt.addptr %1, %0 : tensor<8x!tt.ptr<i32>, #few>, tensor<8xi32, #few>
    tt.store %2, %0 : tensor<8x!tt.ptr<i32>, #few>
    %c1 = arith.constant 1 : i32
    tt.store %p, %c1 : !tt.ptr<i32>
    tt.return
  }
  // Booleans lie in memory as bytes; a volatile load stays one.
  // CHECK-LABEL: tt.func public @booleans
  // CHECK: %[[B:.*]] = tm.load {{.*}} {align = 1 : i32, volatile = true} : (!tt.ptr<i8>) -> i8
  // CHECK: %[[T:.*]] = arith.cmpi ne, %[[B]], %c0_i8
  // CHECK: arith.extui %[[T]] : i1 to i8
  tt.func public @booleans(%p: !tt.ptr<i1>, %q: !tt.ptr<i1>) {
    %0 = tt.load %p {isVolatile = true} : !tt.ptr<i1>
    tt.store %q, %0 : !tt.ptr<i1>
    tt.return
  }
}
