// RUN: tm-opt none --axis < %s | filecheck %s
// Hints on ops and arguments; rows and columns of a matrix of pointers.
module {
  tt.func public @matrix(%p: !tt.ptr<f16> {tt.divisibility = 16 : i32}, %stride: i32 {tt.divisibility = 16 : i32}, %n: i32) {
    // CHECK: tt.make_range#0: contiguity=64 divisibility=1073741824 constancy=1
    %r = tt.make_range {end = 64 : i32, start = 0 : i32} : tensor<64xi32>
    %rows = tt.expand_dims %r {axis = 1 : i32} : tensor<64xi32> -> tensor<64x1xi32>
    // CHECK: tt.expand_dims#0: contiguity=1x64 {{.*}} constancy=1x1
    %cols = tt.expand_dims %r {axis = 0 : i32} : tensor<64xi32> -> tensor<1x64xi32>
    %s = tt.splat %stride : i32 -> tensor<64x1xi32>
    // CHECK: arith.muli#0: contiguity=1x1 divisibility=16x16 constancy=1x1
    %0 = arith.muli %rows, %s : tensor<64x1xi32>
    %1 = tt.broadcast %0 : tensor<64x1xi32> -> tensor<64x64xi32>
    %2 = tt.broadcast %cols : tensor<1x64xi32> -> tensor<64x64xi32>
    // CHECK: arith.addi#0: contiguity=1x64 divisibility=1x16 constancy=1x1
    %3 = arith.addi %1, %2 : tensor<64x64xi32>
    %4 = tt.splat %p : !tt.ptr<f16> -> tensor<64x64x!tt.ptr<f16>>
    // CHECK: tt.addptr#0: contiguity=1x64 divisibility=2x16 constancy=1x1
    %5 = tt.addptr %4, %3 : tensor<64x64x!tt.ptr<f16>>, tensor<64x64xi32>
    // CHECK: arith.remsi#0: contiguity=16 divisibility=16 constancy=1
    // CHECK: arith.remsi#0: contiguity=8 divisibility=32 constancy=4
    %6 = tt.splat %n : i32 -> tensor<64xi32>
    %7 = arith.remsi %r, %6 {tt.contiguity = dense<16> : tensor<1xi32>, tt.divisibility = dense<16> : tensor<1xi32>} : tensor<64xi32>
    %8 = arith.remsi %r, %6 {tt.contiguity = dense<8> : tensor<1xi32>, tt.divisibility = dense<32> : tensor<1xi32>, tt.constancy = dense<4> : tensor<1xi32>} : tensor<64xi32>
    tt.return
  }
  // Grouped program ids of a matrix product: columns wrap around at n, which 16 divides.
  // CHECK: arith.remsi#0: contiguity=1 divisibility=1
  // CHECK: arith.remsi#0: contiguity=16 divisibility=16 constancy=1
  // CHECK-NEXT: arith.cmpi#0: {{.*}} constancy=16
  // CHECK: arith.divsi#0: {{.*}} constancy=32
  // A dividend that may be negative: -4 .. -1 divided by 4 are -1, 0, 0, 0.
  // CHECK: arith.divsi#0: {{.*}} constancy=1
  // CHECK-NEXT: arith.shrsi#0: {{.*}} constancy=4
  tt.func public @wrap(%n: i32 {tt.divisibility = 16 : i32}, %group: i32, %m: i32) {
    %c64 = arith.constant 64 : i32
    %pid = tt.get_program_id x : i32
    %id = arith.remsi %pid, %group : i32
    %col = arith.divsi %id, %m : i32
    %start = arith.muli %col, %c64 : i32
    %r = tt.make_range {end = 64 : i32, start = 0 : i32} : tensor<64xi32>
    %s = tt.splat %start : i32 -> tensor<64xi32>
    %offs = arith.addi %s, %r : tensor<64xi32>
    %ns = tt.splat %n : i32 -> tensor<64xi32>
    %w = arith.remsi %offs, %ns : tensor<64xi32>
    %mask = arith.cmpi slt, %offs, %ns : tensor<64xi32>
    %c32 = arith.constant dense<32> : tensor<64xi32>
    %row = arith.divsi %offs, %c32 : tensor<64xi32>
    %shift = arith.constant dense<4> : tensor<64xi32>
    %two = arith.constant dense<2> : tensor<64xi32>
    %back = arith.subi %r, %shift : tensor<64xi32>
    %q = arith.divsi %back, %shift : tensor<64xi32>
    %u = arith.shrsi %back, %two : tensor<64xi32>
    tt.return
  }
}
