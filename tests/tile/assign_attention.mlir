// RUN: tm-opt --num-warps=4 inline,canonicalize,structure,canonicalize,cse,licm,canonicalize,cse,dce,assign-layouts,cse,licm,dce < %S/assign/attention.4.ttir | filecheck %s
// All simdgroups over rows: the softmax statistics are slices of the scores' layout and p is operand a
// as it stands. q is converted once, before the loop.
// CHECK-DAG: [[O:#linear[0-9]*]] = #ttg.linear<{register = {{\[\[}}0, 1], [0, 8], [0, 16], [0, 32], [32, 0]], lane = {{\[\[}}0, 2], [1, 0], [2, 0], [0, 4], [4, 0]], warp = {{\[\[}}8, 0], [16, 0]], block = []}>
// CHECK-DAG: [[S:#linear[0-9]*]] = #ttg.linear<{register = {{\[\[}}0, 1], [0, 8], [0, 16], [32, 0]], lane = {{\[\[}}0, 2], [1, 0], [2, 0], [0, 4], [4, 0]], warp = {{\[\[}}8, 0], [16, 0]], block = []}>
// CHECK-DAG: [[ROW:#linear[0-9]*]] = #ttg.linear<{register = {{\[\[}}32]], lane = {{\[\[}}0], [1], [2], [0], [4]], warp = {{\[\[}}8], [16]], block = []}>
// CHECK: tt.load
// CHECK: ttg.convert_layout
// CHECK: scf.for
// CHECK: tt.dot
// CHECK-SAME: -> tensor<64x32xf32, [[S]]>
// CHECK: tt.reduce
// CHECK: -> tensor<64xf32, [[ROW]]>
// CHECK-NOT: ttg.convert_layout
// CHECK: tt.load
// CHECK: ttg.convert_layout
// CHECK: tt.dot
// CHECK-SAME: tensor<64x32xf16, [[S]]>
// CHECK-SAME: -> tensor<64x64xf32, [[O]]>
// CHECK-NOT: ttg.convert_layout
// CHECK: tt.return
