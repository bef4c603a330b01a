// RUN: tm-opt cse < %s | filecheck %s
module {
  // CHECK-LABEL: tt.func public @merge
  // CHECK: %[[A:.*]] = arith.addi %arg2, %arg3 : i32
  // CHECK-NEXT: scf.if %arg1 {
  // CHECK-NEXT: tt.store %arg0, %[[A]]
  // CHECK-NEXT: %[[M:.*]] = arith.muli %arg2, %arg3
  // CHECK-NEXT: tt.store %arg0, %[[M]]
  // CHECK-NEXT: } else {
  // CHECK-NEXT: %[[M2:.*]] = arith.muli %arg2, %arg3
  // CHECK-NEXT: tt.store %arg0, %[[M2]]
  // CHECK: %[[S:.*]] = arith.subi %arg2, %arg3
  // CHECK-NEXT: %[[T:.*]] = arith.subi %arg3, %arg2
  tt.func public @merge(%p: !tt.ptr<i32>, %c: i1, %n: i32, %m: i32) {
    %0 = arith.addi %n, %m : i32
    scf.if %c {
      %1 = arith.addi %m, %n : i32
      tt.store %p, %1 : !tt.ptr<i32>
      %2 = arith.muli %n, %m : i32
      tt.store %p, %2 : !tt.ptr<i32>
    } else {
      %3 = arith.muli %n, %m : i32
      tt.store %p, %3 : !tt.ptr<i32>
    }
    %4 = arith.subi %n, %m : i32
    %5 = arith.subi %m, %n : i32
    %6 = arith.addi %4, %5 : i32
    tt.store %p, %6 : !tt.ptr<i32>
    tt.return
  }
  // Loads stay; reductions merge when their regions are equal.
  // CHECK-LABEL: tt.func public @regions
  // CHECK-COUNT-2: tt.load
  // CHECK: %[[R:.*]] = "tt.reduce"
  // CHECK: %[[Q:.*]] = "tt.reduce"
  // CHECK-NOT: "tt.reduce"
  // CHECK: tt.store %arg0, %[[R]]
  // CHECK-NEXT: tt.store %arg0, %[[R]]
  // CHECK-NEXT: tt.store %arg0, %[[Q]]
  tt.func public @regions(%p: !tt.ptr<i32>, %q: tensor<8x!tt.ptr<i32>>) {
    %a = tt.load %q : tensor<8x!tt.ptr<i32>>
    %b = tt.load %q : tensor<8x!tt.ptr<i32>>
    tt.store %q, %b : tensor<8x!tt.ptr<i32>>
    %0 = "tt.reduce"(%a) <{axis = 0 : i32}> ({
    ^bb0(%x: i32, %y: i32):
      %z = arith.subi %x, %y : i32
      tt.reduce.return %z : i32
    }) : (tensor<8xi32>) -> i32
    %1 = "tt.reduce"(%a) <{axis = 0 : i32}> ({
    ^bb0(%x: i32, %y: i32):
      %z = arith.subi %x, %y : i32
      tt.reduce.return %z : i32
    }) : (tensor<8xi32>) -> i32
    %2 = "tt.reduce"(%a) <{axis = 0 : i32}> ({
    ^bb0(%x: i32, %y: i32):
      %z = arith.subi %y, %x : i32
      tt.reduce.return %z : i32
    }) : (tensor<8xi32>) -> i32
    tt.store %p, %0 : !tt.ptr<i32>
    tt.store %p, %1 : !tt.ptr<i32>
    tt.store %p, %2 : !tt.ptr<i32>
    tt.return
  }
}
