// RUN: tm-opt lower,dce < %s | filecheck %s
#row = #ttg.linear<{register = [[128]], lane = [[1], [2], [4], [8], [16]], warp = [[32], [64]], block = []}>
#tile = #ttg.linear<{register = [[0, 16]], lane = [[0, 1], [0, 2], [0, 4], [0, 8], [1, 0]], warp = [[2, 0], [4, 0]], block = []}>
#kept = #ttg.linear<{register = [], lane = [[0], [0], [0], [0], [1]], warp = [[2], [4]], block = []}>
module {
  // Registers, then one op for the lanes, then the partials of the simdgroups, in order.
  // CHECK-LABEL: tt.func public @sum
  // CHECK: %[[A:.*]] = arith.addf
  // CHECK-NEXT: %[[S:.*]] = tm.simd_reduce %[[A]] {kind = 0 : i32}
  // CHECK-NEXT: tm.tg_alloc {align = 16 : i32, bytes = 16 : i32}
  // CHECK: scf.if
  // CHECK: tm.store {{.*}}, %[[S]] {align = 4 : i32}
  // CHECK: %[[P0:.*]] = tm.load
  // CHECK: %[[P1:.*]] = tm.load
  // CHECK-NEXT: %[[S1:.*]] = arith.addf %[[P0]], %[[P1]]
  // CHECK: %[[P2:.*]] = tm.load
  // CHECK-NEXT: %[[S2:.*]] = arith.addf %[[S1]], %[[P2]]
  // CHECK: %[[P3:.*]] = tm.load
  // CHECK-NEXT: arith.addf %[[S2]], %[[P3]]
  // CHECK-NOT: tm.barrier
  tt.func public @sum(%p: !tt.ptr<f32>, %q: !tt.ptr<f32>) {
    %0 = tt.make_range {end = 256 : i32, start = 0 : i32} : tensor<256xi32, #row>
    %1 = tt.splat %p : !tt.ptr<f32> -> tensor<256x!tt.ptr<f32>, #row>
    %2 = tt.addptr %1, %0 : tensor<256x!tt.ptr<f32>, #row>, tensor<256xi32, #row>
    %3 = tt.load %2 : tensor<256x!tt.ptr<f32>, #row>
    %4 = "tt.reduce"(%3) <{axis = 0 : i32}> ({
    ^bb0(%a: f32, %b: f32):
      %5 = arith.addf %a, %b : f32
      tt.reduce.return %5 : f32
    }) : (tensor<256xf32, #row>) -> f32
    tt.store %q, %4 : !tt.ptr<f32>
    tt.return
  }
  // The axis lies in four lane bits; a region that does not commute keeps the lower lane first.
  // CHECK-LABEL: tt.func public @rows
  // CHECK: %[[U:.*]] = arith.cmpi ne
  // CHECK-NEXT: %[[O:.*]] = tm.shuffle_xor %[[X:.*]] {mask = 1 : i32} : (i64) -> i64
  // CHECK-NEXT: %[[A:.*]] = arith.select %[[U]], %[[O]], %[[X]]
  // CHECK-NEXT: %[[B:.*]] = arith.select %[[U]], %[[X]], %[[O]]
  // CHECK-NEXT: arith.subi %[[A]], %[[B]]
  // CHECK: tm.shuffle_xor {{.*}} {mask = 2 : i32}
  // CHECK: tm.shuffle_xor {{.*}} {mask = 4 : i32}
  // CHECK: tm.shuffle_xor {{.*}} {mask = 8 : i32}
  // CHECK-NOT: tm.tg_alloc
  // CHECK: scf.if
  // CHECK-NEXT: tm.store
  tt.func public @rows(%p: !tt.ptr<i64>) {
    %c = arith.constant dense<1> : tensor<8x32xi64, #tile>
    %0 = tt.make_range {end = 8 : i32, start = 0 : i32} : tensor<8xi32, #kept>
    %1 = tt.splat %p : !tt.ptr<i64> -> tensor<8x!tt.ptr<i64>, #kept>
    %2 = tt.addptr %1, %0 : tensor<8x!tt.ptr<i64>, #kept>, tensor<8xi32, #kept>
    %3 = "tt.reduce"(%c) <{axis = 1 : i32}> ({
    ^bb0(%a: i64, %b: i64):
      %4 = arith.subi %a, %b : i64
      tt.reduce.return %4 : i64
    }) : (tensor<8x32xi64, #tile>) -> tensor<8xi64, #kept>
    tt.store %2, %3 : tensor<8x!tt.ptr<i64>, #kept>
    tt.return
  }
}
