// RUN: tm-opt canonicalize < %s | filecheck %s
module {
  // Promotion to i64 and back leaves compares and sums of i32.
  // CHECK-LABEL: tt.func public @promotion
  // CHECK-NOT: extsi
  // CHECK: arith.cmpi slt, %arg2, %arg3 : i32
  // CHECK: arith.cmpi ult, %arg2, %arg3 : i32
  // CHECK: arith.cmpi slt, %arg2, %c100_i32 : i32
  // CHECK: tt.store %arg1, %arg2
  tt.func public @promotion(%p: !tt.ptr<i1>, %q: !tt.ptr<i32>, %n: i32, %m: i32) {
    %c99 = arith.constant 99 : i64
    %0 = arith.extsi %n : i32 to i64
    %1 = arith.extsi %m : i32 to i64
    %2 = arith.cmpi slt, %0, %1 : i64
    tt.store %p, %2 : !tt.ptr<i1>
    %3 = arith.extui %n : i32 to i64
    %4 = arith.extui %m : i32 to i64
    %5 = arith.cmpi slt, %3, %4 : i64
    tt.store %p, %5 : !tt.ptr<i1>
    %6 = arith.cmpi sge, %c99, %0 : i64
    tt.store %p, %6 : !tt.ptr<i1>
    %7 = arith.trunci %0 : i64 to i32
    tt.store %q, %7 : !tt.ptr<i32>
    tt.return
  }
  // CHECK-LABEL: tt.func public @identities
  // CHECK: %[[K:.*]] = arith.constant 12 : i32
  // CHECK: %[[SUM:.*]] = arith.addi %arg2, %[[K]] : i32
  // CHECK: tt.store %arg1, %[[SUM]]
  // CHECK: arith.shrui %arg2, %{{.*}} : i32
  // CHECK: arith.andi %arg2, %{{.*}} : i32
  // CHECK: tt.store %arg1, %c0_i32
  // CHECK: tt.store %arg1, %arg2
  // CHECK: arith.cmpi sge, %arg2, %arg3
  // CHECK: arith.cmpf une, %arg4, %arg5
  tt.func public @identities(%p: !tt.ptr<i1>, %q: !tt.ptr<i32>, %n: i32, %m: i32, %x: f32, %y: f32) {
    %c0 = arith.constant 0 : i32
    %c4 = arith.constant 4 : i32
    %c8 = arith.constant 8 : i32
    %true = arith.constant true
    %0 = arith.addi %c4, %n : i32
    %1 = arith.addi %0, %c8 : i32
    tt.store %q, %1 : !tt.ptr<i32>
    %2 = arith.divui %n, %c8 : i32
    tt.store %q, %2 : !tt.ptr<i32>
    %3 = arith.remui %n, %c8 : i32
    tt.store %q, %3 : !tt.ptr<i32>
    %4 = arith.subi %m, %m : i32
    tt.store %q, %4 : !tt.ptr<i32>
    %5 = arith.ori %n, %c0 : i32
    %6 = arith.select %true, %5, %m : i32
    tt.store %q, %6 : !tt.ptr<i32>
    %7 = arith.cmpi slt, %n, %m : i32
    %8 = arith.xori %7, %true : i1
    tt.store %p, %8 : !tt.ptr<i1>
    %9 = arith.cmpf oeq, %x, %y : f32
    %10 = arith.xori %9, %true : i1
    tt.store %p, %10 : !tt.ptr<i1>
    tt.return
  }
  // Floats: x - x, x * 0 and x + 0 depend on x.
  // CHECK-LABEL: tt.func public @floats
  // CHECK: arith.subf %arg1, %arg1
  // CHECK: arith.mulf %arg1, %{{.*}}
  // CHECK: arith.addf %arg1, %{{.*}}
  // CHECK: tt.store %arg0, %arg1
  // CHECK: %[[H:.*]] = arith.mulf %arg1, %[[HALF:.*]] : f32
  // CHECK: arith.divf %arg1, %{{.*}} : f32
  tt.func public @floats(%q: !tt.ptr<f32>, %x: f32) {
    %zero = arith.constant 0.0 : f32
    %minus_zero = arith.constant -0.0 : f32
    %one = arith.constant 1.0 : f32
    %two = arith.constant 2.0 : f32
    %three = arith.constant 3.0 : f32
    %0 = arith.subf %x, %x : f32
    tt.store %q, %0 : !tt.ptr<f32>
    %1 = arith.mulf %x, %zero : f32
    tt.store %q, %1 : !tt.ptr<f32>
    %2 = arith.addf %x, %zero : f32
    tt.store %q, %2 : !tt.ptr<f32>
    %3 = arith.addf %x, %minus_zero : f32
    %4 = arith.mulf %one, %3 : f32
    %5 = arith.subf %4, %zero : f32
    tt.store %q, %5 : !tt.ptr<f32>
    %6 = arith.divf %x, %two : f32
    tt.store %q, %6 : !tt.ptr<f32>
    %7 = arith.divf %x, %three : f32
    tt.store %q, %7 : !tt.ptr<f32>
    tt.return
  }
}
