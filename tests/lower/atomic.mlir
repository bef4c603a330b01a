// RUN: tm-opt lower,dce < %s | filecheck %s
#few = #ttg.linear<{register = [], lane = [[1], [2], [4], [8], [16]], warp = [[0], [0]], block = []}>
module {
  // An unused old value leaves no result behind; simdgroup 0 acts for all.
  // CHECK-LABEL: tt.func public @count
  // CHECK: scf.if
  // CHECK-NEXT: tm.atomic_rmw {{.*}} {op = 4 : i32, scope = 1 : i32, sem = 1 : i32}
  // CHECK-NEXT: }
  // CHECK-NEXT: tt.return
  tt.func public @count(%p: !tt.ptr<i32>) {
    %0 = tt.splat %p : !tt.ptr<i32> -> tensor<32x!tt.ptr<i32>, #few>
    %1 = arith.constant dense<1> : tensor<32xi32, #few>
    %2 = tt.atomic_rmw add, relaxed, gpu, %0, %1 : (tensor<32x!tt.ptr<i32>, #few>, tensor<32xi32, #few>) -> tensor<32xi32, #few>
    tt.return
  }
  // A used scalar result goes from the one thread to all through threadgroup memory.
  // CHECK-LABEL: tt.func public @ticket
  // CHECK: %[[OLD:.*]] = scf.if %[[ONE:.*]] -> (i32) {
  // CHECK: tm.atomic_cas
  // CHECK: tm.tg_alloc {align = 16 : i32, bytes = 4 : i32}
  // CHECK: scf.if %[[ONE]] {
  // CHECK-NEXT: tm.store %[[AT:.*]], %[[OLD]]
  // CHECK: %[[ALL:.*]] = tm.load %[[AT]]
  // CHECK: tm.store %arg1, %[[ALL]]
  tt.func public @ticket(%p: !tt.ptr<i32>, %q: !tt.ptr<i32>) {
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    %0 = tt.atomic_cas acq_rel, gpu, %p, %c0, %c1 : (!tt.ptr<i32>, i32, i32) -> i32
    tt.store %q, %0 : !tt.ptr<i32>
    tt.return
  }
}
