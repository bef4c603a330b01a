// RUN: tm-opt dce < %s | filecheck %s
module {
  // Unused loads go, volatile ones and atomics stay; a cycle of carried values that nothing reads goes.
  // CHECK-LABEL: tt.func public @dead
  // CHECK-NOT: arith.muli
  // CHECK: tt.load %arg0 {isVolatile = true}
  // CHECK: tt.atomic_rmw
  // CHECK: %[[R:.*]] = scf.for {{.*}} iter_args(%[[A:.*]] = %arg1) -> (i32)
  // CHECK-NEXT: %[[N:.*]] = arith.addi %[[A]], %arg1
  // CHECK-NEXT: scf.yield %[[N]]
  // CHECK-NEXT: }
  // CHECK-NEXT: tt.store %arg0, %[[R]]
  // CHECK-NEXT: tt.return
  tt.func public @dead(%p: !tt.ptr<i32>, %n: i32) {
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    %true = arith.constant true
    %0 = arith.muli %n, %n : i32
    %1 = tt.load %p : !tt.ptr<i32>
    %2 = tt.load %p {isVolatile = true} : !tt.ptr<i32>
    %3 = tt.atomic_rmw add, acq_rel, gpu, %p, %n, %true : (!tt.ptr<i32>, i32, i1) -> i32
    %r:3 = scf.for %i = %c0 to %n step %c1 iter_args(%a = %n, %x = %n, %y = %n) -> (i32, i32, i32)  : i32 {
      %4 = arith.addi %a, %n : i32
      %5 = arith.addi %x, %y : i32
      scf.for %j = %c0 to %n step %c1  : i32 {
        %6 = tt.load %p : !tt.ptr<i32>
      }
      scf.yield %4, %y, %5 : i32, i32, i32
    }
    tt.store %p, %r#0 : !tt.ptr<i32>
    tt.return
  }

  // What is stored into threadgroup memory that nothing reads goes, with the branch around it.
  // CHECK-LABEL: tt.func public @stores
  // CHECK: %[[READ:.*]] = tm.tg_alloc {{.*}}bytes = 64
  // CHECK-NOT: tm.tg_alloc
  // CHECK: scf.if
  // CHECK-NEXT: tm.store
  // CHECK-NEXT: }
  // CHECK: tm.load
  tt.func public @stores(%p: !tt.ptr<f32>, %i: i32, %c: i1, %v: f32) {
    %a = tm.tg_alloc {bytes = 64 : i32, align = 16 : i32} : () -> !tt.ptr<i8, 3>
    %b = tm.tg_alloc {bytes = 32 : i32, align = 16 : i32} : () -> !tt.ptr<i8, 3>
    %a1 = tt.bitcast %a : !tt.ptr<i8, 3> -> !tt.ptr<f32, 3>
    %a2 = tt.addptr %a1, %i : !tt.ptr<f32, 3>, i32
    %b1 = tt.bitcast %b : !tt.ptr<i8, 3> -> !tt.ptr<f32, 3>
    %b2 = tt.addptr %b1, %i : !tt.ptr<f32, 3>, i32
    scf.if %c {
      tm.store %a2, %v {align = 4 : i32} : (!tt.ptr<f32, 3>, f32) -> ()
      tm.store %b2, %v {align = 4 : i32} : (!tt.ptr<f32, 3>, f32) -> ()
    }
    scf.if %c {
      tm.store %b1, %v {align = 4 : i32} : (!tt.ptr<f32, 3>, f32) -> ()
    }
    %x = tm.load %a1 {align = 4 : i32} : (!tt.ptr<f32, 3>) -> f32
    tm.store %p, %x {align = 4 : i32} : (!tt.ptr<f32>, f32) -> ()
    tt.return
  }
}
