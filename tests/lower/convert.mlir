// RUN: tm-opt lower,dce < %s | filecheck %s
#a = #ttg.linear<{register = [[1], [2]], lane = [[4], [8], [16], [32], [64]], warp = [[128], [256]], block = []}>
#swap = #ttg.linear<{register = [[2], [1]], lane = [[4], [8], [16], [32], [64]], warp = [[128], [256]], block = []}>
#cross = #ttg.linear<{register = [[4], [2]], lane = [[1], [8], [16], [32], [64]], warp = [[128], [256]], block = []}>
#warps = #ttg.linear<{register = [[128], [256]], lane = [[1], [2], [4], [8], [16]], warp = [[32], [64]], block = []}>
#rows = #ttg.linear<{register = [[0, 1], [0, 2], [0, 4], [8, 0], [16, 0]], lane = [[0, 8], [0, 16], [1, 0], [2, 0], [4, 0]], warp = [[0, 0], [0, 0]], block = []}>
#frag = #ttg.linear<{register = [[0, 1], [0, 8], [0, 16], [8, 0], [16, 0]], lane = [[0, 2], [1, 0], [2, 0], [0, 4], [4, 0]], warp = [[0, 0], [0, 0]], block = []}>
module {
  // CHECK-LABEL: tt.func public @registers
  // CHECK-NOT: tm.shuffle
  // CHECK-NOT: tm.tg_alloc
  tt.func public @registers(%p: !tt.ptr<i32>) {
    %0 = tt.make_range {end = 512 : i32, start = 0 : i32} : tensor<512xi32, #a>
    %1 = ttg.convert_layout %0 : tensor<512xi32, #a> -> tensor<512xi32, #swap>
    %2 = tt.splat %p : !tt.ptr<i32> -> tensor<512x!tt.ptr<i32>, #swap>
    tt.store %2, %1 : tensor<512x!tt.ptr<i32>, #swap>
    tt.return
  }
  // A register and a lane bit change places: select, shuffle the half that moves, select.
  // CHECK-LABEL: tt.func public @shuffles
  // CHECK-COUNT-2: tm.shuffle_xor {{.*}} {mask = 1 : i32}
  // CHECK-NOT: tm.shuffle
  // CHECK-NOT: tm.tg_alloc
  tt.func public @shuffles(%p: !tt.ptr<i32>) {
    %0 = tt.make_range {end = 512 : i32, start = 0 : i32} : tensor<512xi32, #a>
    %1 = ttg.convert_layout %0 : tensor<512xi32, #a> -> tensor<512xi32, #cross>
    %2 = tt.splat %p : !tt.ptr<i32> -> tensor<512x!tt.ptr<i32>, #cross>
    tt.store %2, %1 : tensor<512x!tt.ptr<i32>, #cross>
    tt.return
  }
  // CHECK-LABEL: tt.func public @memory
  // CHECK: tm.tg_alloc {align = 16 : i32, bytes = 2048 : i32}
  // CHECK: tm.store {{.*}} {align = 16 : i32} : (!tt.ptr<i32, 3>, vector<4xi32>)
  // CHECK-COUNT-4: tm.load {{.*}} : (!tt.ptr<i32, 3>) -> i32
  tt.func public @memory(%p: !tt.ptr<i32>) {
    %0 = tt.make_range {end = 512 : i32, start = 0 : i32} : tensor<512xi32, #a>
    %1 = ttg.convert_layout %0 : tensor<512xi32, #a> -> tensor<512xi32, #warps>
    %2 = tt.splat %p : !tt.ptr<i32> -> tensor<512x!tt.ptr<i32>, #warps>
    tt.store %2, %1 : tensor<512x!tt.ptr<i32>, #warps>
    tt.return
  }
  // Rows are padded by 16 bytes. Fragments read and write whole matrices, never single elements.
  // CHECK-LABEL: tt.func public @matrices
  // CHECK: tm.tg_alloc {align = 16 : i32, bytes = 2560 : i32}
  // CHECK: scf.if
  // CHECK-COUNT-4: tm.store {{.*}} {align = 16 : i32} : (!tt.ptr<f16, 3>, vector<8xf16>)
  // CHECK: }
  // CHECK-COUNT-16: tm.matrix_load {{.*}} {stride = 40 : i32, transposed = false}
  // CHECK-NOT: tm.matrix_make
  // CHECK: tm.matrix_fill %cst
  // CHECK-COUNT-64: tm.matrix_mma
  // CHECK: tm.tg_alloc {align = 16 : i32, bytes = 4608 : i32}
  // CHECK-COUNT-16: tm.matrix_store {{.*}} {stride = 36 : i32, transposed = false}
  // CHECK-NOT: tm.matrix_get
  // CHECK-COUNT-8: tm.load {{.*}} {align = 16 : i32} : (!tt.ptr<f32, 3>) -> vector<4xf32>
  tt.func public @matrices(%p: !tt.ptr<f16>, %q: !tt.ptr<f32>) {
    %0 = tt.splat %p : !tt.ptr<f16> -> tensor<32x32x!tt.ptr<f16>, #rows>
    %1 = tt.load %0 : tensor<32x32x!tt.ptr<f16>, #rows>
    %2 = ttg.convert_layout %1 : tensor<32x32xf16, #rows> -> tensor<32x32xf16, #frag>
    %c = arith.constant dense<0.0> : tensor<32x32xf32, #frag>
    %3 = tt.dot %2, %2, %c : tensor<32x32xf16, #frag> * tensor<32x32xf16, #frag> -> tensor<32x32xf32, #frag>
    %4 = ttg.convert_layout %3 : tensor<32x32xf32, #frag> -> tensor<32x32xf32, #rows>
    %5 = tt.splat %q : !tt.ptr<f32> -> tensor<32x32x!tt.ptr<f32>, #rows>
    tt.store %5, %4 : tensor<32x32x!tt.ptr<f32>, #rows>
    tt.return
  }
}
