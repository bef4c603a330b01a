// RUN: tm-emit --macos=15 %s | filecheck %s
// RUN: tm-emit --passes=plan,barriers --macos=15 %s | llvm-as-14 - -o /dev/null
// RUN: for v in 13 14 15 26; do tm-emit --passes=plan,barriers --macos=$v --bitcode %s >%t.$v.w && opt-14 -mtriple=x86_64 -passes=verify %t.$v.w -o /dev/null || exit 1; done
// Loops are rotated; constant bounds that enter need no test before; a while loop tests at its head;
// a loop in a loop merges through the inner one's exit.
// CHECK-LABEL: define void @flow
// CHECK: icmp slt i32 0
// CHECK: phi i32 [ 0, %{{[0-9]+}} ], [ %[[NEXT:[0-9]+]], %{{[0-9]+}} ]
// CHECK: phi float [ 0.000000e+00, %{{[0-9]+}} ]
// CHECK: phi i64 [ 0, %{{[0-9]+}} ]
// CHECK-NEXT: phi float
// CHECK: icmp slt i64 %{{[0-9]+}}, 8
// CHECK: %[[NEXT]] = add i32
// CHECK-NEXT: icmp slt i32 %[[NEXT]]
// CHECK: phi float
// CHECK: phi i32
// CHECK: icmp sgt i32
// CHECK: ret void
module {
  tt.func public @flow(%p: !tt.ptr<f32>, %n: i32) {
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    %l0 = arith.constant 0 : i64
    %l1 = arith.constant 1 : i64
    %l8 = arith.constant 8 : i64
    %zero = arith.constant 0.0 : f32
    %r = scf.for %i = %c0 to %n step %c1 iter_args(%acc = %zero) -> (f32)  : i32 {
      %s = scf.for %j = %l0 to %l8 step %l1 iter_args(%a = %acc) -> (f32)  : i64 {
        %q = tt.addptr %p, %j : !tt.ptr<f32>, i64
        %v = tm.load %q {align = 4 : i32} : (!tt.ptr<f32>) -> f32
        %t = arith.addf %a, %v : f32
        scf.yield %t : f32
      }
      %big = arith.cmpf ogt, %s, %zero : f32
      %u = scf.if %big -> (f32) {
        %m = arith.mulf %s, %s : f32
        scf.yield %m : f32
      } else {
        scf.yield %s : f32
      }
      scf.yield %u : f32
    }
    %k = scf.while (%x = %n) : (i32) -> i32 {
      %go = arith.cmpi sgt, %x, %c1 : i32
      scf.condition(%go) %x : i32
    } do {
    ^bb0(%x: i32):
      %h = arith.shrsi %x, %c1 : i32
      scf.yield %h : i32
    }
    %pk = tt.addptr %p, %k : !tt.ptr<f32>, i32
    tm.store %pk, %r {align = 4 : i32} : (!tt.ptr<f32>, f32) -> ()
    tt.return
  }
}
