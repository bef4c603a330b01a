// RUN: tm-opt licm < %s | filecheck %s
module {
  // CHECK-LABEL: tt.func public @hoist
  // CHECK: %[[A:.*]] = arith.addi %arg1, %arg2 : i32
  // CHECK-NEXT: %[[B:.*]] = arith.muli %[[A]], %arg2 : i32
  // CHECK-NEXT: scf.for %[[I:.*]] =
  // CHECK-NEXT: %[[C:.*]] = arith.addi %[[I]], %[[B]] : i32
  // CHECK-NEXT: scf.while
  // CHECK-NEXT: tt.load
  // CHECK: scf.condition
  // CHECK-NOT: arith.addi
  // CHECK: scf.yield
  tt.func public @hoist(%p: !tt.ptr<i32>, %n: i32, %m: i32) {
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    scf.for %i = %c0 to %n step %c1  : i32 {
      scf.while : () -> () {
        %l = tt.load %p : !tt.ptr<i32>
        %t = arith.cmpi slt, %l, %n : i32
        scf.condition(%t)
      } do {
        %0 = arith.addi %n, %m : i32
        %1 = arith.muli %0, %m : i32
        %2 = arith.addi %i, %1 : i32
        tt.store %p, %2 : !tt.ptr<i32>
        scf.yield
      }
    }
    tt.return
  }
}
