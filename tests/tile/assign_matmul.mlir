// RUN: tm-opt --num-warps=4 inline,canonicalize,structure,canonicalize,cse,licm,canonicalize,cse,dce,assign-layouts,cse,licm,dce < %S/assign/matmul.4.ttir | filecheck %s
// The result is split 2 by 2 over four simdgroups; a and b are loaded coalesced and converted to its
// operand layouts, where the other operand's simdgroups hold copies; the store needs no conversion.
// CHECK-DAG: [[C:#linear[0-9]*]] = #ttg.linear<{register = {{\[\[}}0, 1], [0, 16], [0, 32], [16, 0], [32, 0]], lane = {{\[\[}}0, 2], [1, 0], [2, 0], [0, 4], [4, 0]], warp = {{\[\[}}8, 0], [0, 8]], block = []}>
// CHECK-DAG: [[A:#linear[0-9]*]] = #ttg.linear<{register = {{\[\[}}0, 1], [0, 8], [0, 16], [16, 0], [32, 0]], lane = {{\[\[}}0, 2], [1, 0], [2, 0], [0, 4], [4, 0]], warp = {{\[\[}}8, 0], [0, 0]], block = []}>
// CHECK-DAG: [[B:#linear[0-9]*]] = #ttg.linear<{register = {{\[\[}}0, 1], [0, 16], [0, 32], [8, 0], [16, 0]], lane = {{\[\[}}0, 2], [1, 0], [2, 0], [0, 4], [4, 0]], warp = {{\[\[}}0, 0], [0, 8]], block = []}>
// CHECK: scf.for
// CHECK: tt.load
// CHECK: ttg.convert_layout
// CHECK-SAME: -> tensor<64x32xf16, [[A]]>
// CHECK: tt.load
// CHECK: ttg.convert_layout
// CHECK-SAME: -> tensor<32x64xf16, [[B]]>
// CHECK: tt.dot
// CHECK-SAME: -> tensor<64x64xf32, [[C]]>
// CHECK-NOT: ttg.convert_layout
// CHECK: tt.store
// CHECK-SAME: tensor<64x64x!tt.ptr<f16>, [[C]]>
