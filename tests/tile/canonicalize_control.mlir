// RUN: tm-opt canonicalize < %s | filecheck %s
module {
  // CHECK-LABEL: tt.func public @branches
  // CHECK-NOT: scf.if
  // CHECK: tt.store %arg0, %arg2
  // CHECK-NOT: scf.if
  // CHECK: %[[S:.*]] = arith.select %arg1, %arg2, %arg3 : i32
  // CHECK: tt.store %arg0, %[[S]]
  // CHECK: scf.if %arg1 {
  // CHECK-NEXT: tt.store %arg0, %arg2
  // CHECK-NEXT: }
  tt.func public @branches(%p: !tt.ptr<i32>, %c: i1, %n: i32, %m: i32) {
    %true = arith.constant true
    %0 = scf.if %true -> (i32) {
      scf.yield %n : i32
    } else {
      tt.store %p, %m : !tt.ptr<i32>
      scf.yield %m : i32
    }
    tt.store %p, %0 : !tt.ptr<i32>
    scf.if %c {
    }
    %1 = scf.if %c -> (i32) {
      scf.yield %n : i32
    } else {
      scf.yield %m : i32
    }
    tt.store %p, %1 : !tt.ptr<i32>
    scf.if %c {
      scf.if %c {
        tt.store %p, %n : !tt.ptr<i32>
      } else {
        tt.store %p, %m : !tt.ptr<i32>
      }
    }
    tt.return
  }
  // Carried values that never change are used directly; those that only feed themselves go.
  // CHECK-LABEL: tt.func public @loops
  // CHECK: %[[R:.*]] = scf.for %{{.*}} = %c0_i32 to %arg1 step %c1_i32 iter_args(%[[A:.*]] = %arg2) -> (i32)
  // CHECK-NEXT: %[[N:.*]] = arith.addi %[[A]], %arg3 : i32
  // CHECK-NEXT: scf.yield %[[N]] : i32
  // CHECK-NEXT: }
  // CHECK-NEXT: tt.store %arg0, %[[R]]
  // CHECK-NEXT: tt.store %arg0, %arg3
  // CHECK-NEXT: tt.store %arg0, %arg2
  // CHECK-NEXT: %[[O:.*]] = arith.addi %arg2, %c5_i32
  // CHECK-NEXT: tt.store %arg0, %[[O]]
  // CHECK-NEXT: tt.return
  tt.func public @loops(%p: !tt.ptr<i32>, %n: i32, %m: i32, %k: i32) {
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    %c5 = arith.constant 5 : i32
    %r:4 = scf.for %i = %c0 to %n step %c1 iter_args(%a = %m, %b = %k, %x = %m, %y = %k) -> (i32, i32, i32, i32)  : i32 {
      %0 = arith.addi %a, %b : i32
      %1 = arith.addi %y, %c1 : i32
      %2 = arith.addi %x, %c5 : i32
      scf.yield %0, %b, %1, %2 : i32, i32, i32, i32
    }
    tt.store %p, %r#0 : !tt.ptr<i32>
    tt.store %p, %r#1 : !tt.ptr<i32>
    %none = scf.for %i = %c5 to %c1 step %c1 iter_args(%a = %m) -> (i32)  : i32 {
      scf.yield %i : i32
    }
    tt.store %p, %none : !tt.ptr<i32>
    %c5_1 = arith.constant 6 : i32
    %once = scf.for %i = %c5 to %c5_1 step %c1 iter_args(%a = %m) -> (i32)  : i32 {
      %0 = arith.addi %a, %i : i32
      scf.yield %0 : i32
    }
    tt.store %p, %once : !tt.ptr<i32>
    tt.return
  }
  // CHECK-LABEL: tt.func public @whiles
  // CHECK: scf.while (%[[A:.*]] = %arg1) : (i32) -> i32 {
  // CHECK: arith.cmpi slt, %[[A]], %arg2
  // CHECK: scf.condition
  tt.func public @whiles(%p: !tt.ptr<i32>, %n: i32, %m: i32) {
    %r:3 = scf.while (%a = %n, %b = %m, %x = %n) : (i32, i32, i32) -> (i32, i32, i32) {
      %0 = arith.cmpi slt, %a, %b : i32
      scf.condition(%0) %a, %b, %x : i32, i32, i32
    } do {
    ^bb0(%a: i32, %b: i32, %x: i32):
      %0 = arith.addi %a, %b : i32
      %1 = arith.addi %x, %b : i32
      scf.yield %0, %b, %1 : i32, i32, i32
    }
    tt.store %p, %r#0 : !tt.ptr<i32>
    tt.return
  }
}
