// RUN: tm-opt structure,canonicalize < %s | filecheck %s
// A return under a nested condition: what follows runs under a flag, and appears once.

// CHECK-LABEL: tt.func public @nested
// CHECK: %[[A:.*]] = arith.cmpi sge, %arg1,
// CHECK: %[[F:.*]]:2 = scf.if %[[A]] -> (i1, i32) {
// CHECK: } else {
// CHECK: scf.yield %true, %arg1 : i1, i32
// CHECK: scf.if %[[F]]#0 {
// CHECK-NEXT: tt.store %arg0, %[[F]]#1
// CHECK-NOT: tt.store
// CHECK: tt.return
// CHECK-NOT: cf.
module {
  tt.func public @nested(%p: !tt.ptr<i32>, %n: i32) {
    %c1 = arith.constant 1 : i32
    %c7 = arith.constant 7 : i32
    %c100 = arith.constant 100 : i32
    %0 = arith.cmpi sgt, %n, %c7 : i32
    cf.cond_br %0, ^bb1, ^bb2
  ^bb1:
    %1 = arith.cmpi sgt, %n, %c100 : i32
    cf.cond_br %1, ^bb3, ^bb4
  ^bb2:
    cf.br ^bb5(%n : i32)
  ^bb3:
    tt.return
  ^bb4:
    %2 = arith.addi %n, %c1 : i32
    cf.br ^bb5(%2 : i32)
  ^bb5(%3: i32):
    tt.store %p, %3 : !tt.ptr<i32>
    tt.return
  }
  // The branch that does something comes first; a constant condition takes one way.
  // CHECK-LABEL: tt.func public @guard
  // CHECK: %[[C:.*]] = arith.cmpi slt, %arg1,
  // CHECK-NEXT: scf.if %[[C]] {
  // CHECK-NEXT: tt.store
  // CHECK-NEXT: }
  // CHECK-NEXT: tt.return
  tt.func public @guard(%p: !tt.ptr<i32>, %n: i32) {
    %c7 = arith.constant 7 : i32
    %false = arith.constant false
    cf.cond_br %false, ^bb2, ^bb1
  ^bb1:
    %0 = arith.cmpi sge, %n, %c7 : i32
    cf.cond_br %0, ^bb2, ^bb3
  ^bb2:
    tt.return
  ^bb3:
    tt.store %p, %n : !tt.ptr<i32>
    tt.return
  }
}
