// RUN: tm-opt canonicalize < %s | filecheck %s
module {
  // CHECK-LABEL: tt.func public @masks
  // CHECK: tt.load %arg0 : tensor<8x!tt.ptr<i32>>
  // CHECK-NOT: tt.load
  // CHECK: tt.store %arg1, %{{.*}} : tensor<8x!tt.ptr<i32>>
  // CHECK-NEXT: tt.store %arg1, %arg2 : tensor<8x!tt.ptr<i32>>
  // CHECK-NEXT: ttg.barrier local
  // CHECK-NEXT: tt.return
  tt.func public @masks(%p: tensor<8x!tt.ptr<i32>>, %q: tensor<8x!tt.ptr<i32>>, %o: tensor<8xi32>, %c: i1) {
    %true = arith.constant dense<true> : tensor<8xi1>
    %false = arith.constant dense<false> : tensor<8xi1>
    %0 = tt.load %p, %true, %o : tensor<8x!tt.ptr<i32>>
    tt.store %q, %0, %true : tensor<8x!tt.ptr<i32>>
    %1 = tt.load %p, %false, %o : tensor<8x!tt.ptr<i32>>
    tt.store %q, %1 : tensor<8x!tt.ptr<i32>>
    tt.store %p, %1, %false : tensor<8x!tt.ptr<i32>>
    llvm.intr.assume %c : i1
    ttg.barrier local
    tt.return
  }
  // Constant steps add up, but not past their type.
  // CHECK-LABEL: tt.func public @steps
  // CHECK-DAG: %[[C12:.*]] = arith.constant 12 : i32
  // CHECK: %[[A:.*]] = tt.addptr %arg0, %[[C12]] : !tt.ptr<i32>, i32
  // CHECK-NEXT: tt.store %[[A]], %arg1
  // CHECK-NEXT: tt.store %arg0, %arg1
  // CHECK-NEXT: %[[B:.*]] = tt.addptr %arg0, %{{.*}} : !tt.ptr<i32>, i32
  // CHECK-NEXT: %[[C:.*]] = tt.addptr %[[B]], %{{.*}} : !tt.ptr<i32>, i32
  // CHECK-NEXT: tt.store %[[C]], %arg1
  tt.func public @steps(%p: !tt.ptr<i32>, %n: i32) {
    %c0 = arith.constant 0 : i32
    %c4 = arith.constant 4 : i32
    %c8 = arith.constant 8 : i32
    %big = arith.constant 2147483647 : i32
    %0 = tt.addptr %p, %c4 : !tt.ptr<i32>, i32
    %1 = tt.addptr %0, %c8 : !tt.ptr<i32>, i32
    tt.store %1, %n : !tt.ptr<i32>
    %2 = tt.addptr %p, %c0 : !tt.ptr<i32>, i32
    tt.store %2, %n : !tt.ptr<i32>
    %3 = tt.addptr %p, %big : !tt.ptr<i32>, i32
    %4 = tt.addptr %3, %big : !tt.ptr<i32>, i32
    tt.store %4, %n : !tt.ptr<i32>
    tt.return
  }
}
