// RUN: tm-opt inline --locs < %s | filecheck %s
// Bodies of callees, called twice and nested, within a loop and a combine region; early returns of a
// callee become scf.if; noinline is no reason to keep a call; locations name callee and caller.

// CHECK-LABEL: tt.func public @kernel
// CHECK-NOT: tt.call
// CHECK: scf.for
// CHECK: arith.cmpi sgt
// CHECK: scf.if
// CHECK: arith.muli {{.*}} loc(#[[AT:loc[0-9]*]])
// CHECK: "tt.reduce"
// CHECK: arith.addi
// CHECK-NEXT: tt.reduce.return
// CHECK-NOT: tt.func private
// CHECK-DAG: #[[CALLEE:loc[0-9]*]] = loc("callee.py":2:3)
// CHECK-DAG: #[[CALLER:loc[0-9]*]] = loc("caller.py":7:8)
// CHECK-DAG: #[[AT]] = loc(callsite(#[[CALLEE]] at #[[CALLER]]))
module {
  tt.func public @kernel(%p: !tt.ptr<i32>, %n: i32) {
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    %r = scf.for %i = %c0 to %n step %c1 iter_args(%a = %c0) -> (i32)  : i32 {
      %v = tt.call @outer(%i, %a) : (i32, i32) -> i32 loc("caller.py":7:8)
      scf.yield %v : i32
    }
    %t = tt.splat %r : i32 -> tensor<32xi32>
    %s = "tt.reduce"(%t) <{axis = 0 : i32}> ({
    ^bb0(%x: i32, %y: i32):
      %z = tt.call @add(%x, %y) : (i32, i32) -> i32
      tt.reduce.return %z : i32
    }) : (tensor<32xi32>) -> i32
    tt.store %p, %s : !tt.ptr<i32>
    tt.return
  }
  tt.func private @outer(%x: i32, %n: i32) -> i32 attributes {noinline = true} {
    %0 = arith.cmpi sgt, %x, %n : i32
    cf.cond_br %0, ^bb1, ^bb2
  ^bb1:
    %1 = arith.muli %x, %x : i32 loc("callee.py":2:3)
    tt.return %1 : i32
  ^bb2:
    %2 = tt.call @add(%x, %n) : (i32, i32) -> i32
    tt.return %2 : i32
  ^bb3:
    %3 = ub.poison : i32
    tt.return %3 : i32
  }
  tt.func private @add(%a: i32, %b: i32) -> i32 {
    %0 = arith.addi %a, %b : i32
    tt.return %0 : i32
  }
}
