// RUN: tm-opt --num-warps=4 inline,canonicalize,structure,canonicalize,cse,licm,canonicalize,cse,dce,assign-layouts,cse,licm,dce < %S/assign/mixed_widths.4.ttir | filecheck %s
// Loads of 8, 16 and 32 bits and a store of 16 bits meet in one layout: 8 elements per access, and
// 32 bytes per thread of the widest.
// CHECK: [[L:#linear[0-9]*]] = #ttg.linear<{register = {{\[\[}}1], [2], [4], [1024], [2048]], lane = {{\[\[}}8], [16], [32], [64], [128]], warp = {{\[\[}}256], [512]], block = []}>
// CHECK-NOT: = #ttg.linear
// CHECK-NOT: ttg.convert_layout
// CHECK: tt.store
// CHECK-SAME: tensor<4096x!tt.ptr<f16>, [[L]]>
