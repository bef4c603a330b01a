// One operation a line, with the arguments that test_ir_roundtrip.py declares.
%0 = "tt.make_tensor_descriptor"(%p, %i, %i, %l, %l) <{padding = 1 : i32}> : (!tt.ptr<f32>, i32, i32, i64, i64) -> !tt.tensordesc<16x16xf32>
%0 = "tt.make_tensor_descriptor"(%pi, %i, %l) <{padding = 2 : i32}> : (!tt.ptr<i32>, i32, i64) -> !tt.tensordesc<16xsi32>
%0 = "tt.descriptor_load"(%d, %i, %i) {x.y} : (!tt.tensordesc<16x16xf32>, i32, i32) -> tensor<16x16xf32>
%0 = "tt.descriptor_load"(%d, %i, %i) <{cachePolicy = #tt.cache_policy<cache_modifier = none, eviction_policy = evict_last>}> : (!tt.tensordesc<16x16xf32>, i32, i32) -> tensor<16x16xf32>
"tt.descriptor_store"(%d, %c, %i, %i) : (!tt.tensordesc<16x16xf32>, tensor<16x16xf32>, i32, i32) -> ()
"tt.descriptor_reduce"(%d, %c, %i, %i) <{kind = 1 : i32}> : (!tt.tensordesc<16x16xf32>, tensor<16x16xf32>, i32, i32) -> ()
"tt.descriptor_reduce"(%d, %c, %i, %i) <{kind = 2 : i32}> : (!tt.tensordesc<16x16xf32>, tensor<16x16xf32>, i32, i32) -> ()
"tt.descriptor_reduce"(%d, %c, %i, %i) <{kind = 3 : i32}> : (!tt.tensordesc<16x16xf32>, tensor<16x16xf32>, i32, i32) -> ()
"tt.descriptor_reduce"(%d, %c, %i, %i) <{kind = 4 : i32}> : (!tt.tensordesc<16x16xf32>, tensor<16x16xf32>, i32, i32) -> ()
"tt.descriptor_reduce"(%d, %c, %i, %i) <{kind = 5 : i32}> : (!tt.tensordesc<16x16xf32>, tensor<16x16xf32>, i32, i32) -> ()
"tt.descriptor_reduce"(%d, %c, %i, %i) <{kind = 6 : i32}> : (!tt.tensordesc<16x16xf32>, tensor<16x16xf32>, i32, i32) -> ()
"tt.descriptor_reduce"(%d, %c, %i, %i) <{kind = 7 : i32}> : (!tt.tensordesc<16x16xf32>, tensor<16x16xf32>, i32, i32) -> ()
"tt.descriptor_reduce"(%d, %c, %i, %i) <{kind = 8 : i32}> : (!tt.tensordesc<16x16xf32>, tensor<16x16xf32>, i32, i32) -> ()
%0 = "tt.descriptor_gather"(%d1, %ti, %i) : (!tt.tensordesc<1x16xf32>, tensor<16xi32>, i32) -> tensor<16x16xf32>
"tt.descriptor_scatter"(%d1, %ti, %i, %c) : (!tt.tensordesc<1x16xf32>, tensor<16xi32>, i32, tensor<16x16xf32>) -> ()
%0 = "tt.dot_scaled"(%a8, %b8, %cc, %s8, %s8) <{a_elem_type = 0 : i32, b_elem_type = 1 : i32, fastMath = true, operandSegmentSizes = array<i32: 1,1,1,1,1>}> : (tensor<32x64xi8>, tensor<64x32xi8>, tensor<32x32xf32>, tensor<32x2xi8>, tensor<32x2xi8>) -> tensor<32x32xf32>
%0 = "tt.dot_scaled"(%a8, %b8, %cc, %s8) <{a_elem_type = 2 : i32, b_elem_type = 3 : i32, fastMath = false, operandSegmentSizes = array<i32: 1,1,1,0,1>}> : (tensor<32x64xi8>, tensor<64x32xi8>, tensor<32x32xf32>, tensor<32x2xi8>) -> tensor<32x32xf32>
%0 = "tt.atomic_poll"(%pi, %i) <{sem = 2 : i32, scope = 1 : i32}> : (!tt.ptr<i32>, i32) -> i1
%0 = "tt.atomic_load"(%pi) <{sem = 2 : i32, scope = 1 : i32}> : (!tt.ptr<i32>) -> i32
%0 = "tt.atomic_load"(%tpi, %m) <{sem = 2 : i32, scope = 1 : i32}> : (tensor<16x!tt.ptr<i32>>, tensor<16xi1>) -> tensor<16xi32>
"tt.atomic_store"(%pi, %i) <{sem = 3 : i32, scope = 2 : i32}> : (!tt.ptr<i32>, i32) -> ()
"tt.atomic_store"(%tpi, %ti, %m) <{sem = 1 : i32, scope = 3 : i32}> : (tensor<16x!tt.ptr<i32>>, tensor<16xi32>, tensor<16xi1>) -> ()
%0:2 = "tt.map_elementwise"(%v, %ti) <{pack = 1 : i32}> ({ ^bb0(%x: f32, %y: i32): "tt.map_elementwise.return"(%x, %y) : (f32, i32) -> () }) {q.q} : (tensor<16xf32>, tensor<16xi32>) -> (tensor<16xf32>, tensor<16xi32>)
%0 = "tt.scan"(%v) <{axis = 0 : i32, reverse = true}> ({ ^bb0(%x: f32, %y: f32): "tt.scan.return"(%x) : (f32) -> () }) {q.q} : (tensor<16xf32>) -> (tensor<16xf32>)
%0 = "arith.cmpf"(%f, %f) <{predicate = 4 : i64, fastmath = #arith.fastmath<none>}> {a.b} : (f32, f32) -> i1
"ttg.barrier"() <{addrSpace = 2 : i32}> : () -> ()
"ttg.barrier"() <{addrSpace = 4 : i32}> : () -> ()
"ttg.barrier"() <{addrSpace = 7 : i32}> : () -> ()
"ttg.barrier"() <{addrSpace = 8 : i32}> : () -> ()
"ttg.barrier"() <{addrSpace = 15 : i32}> : () -> ()
"ttg.barrier"() <{addrSpace = 0 : i32}> : () -> ()
"ttg.barrier"() <{addrSpace = 16 : i32}> : () -> ()
"ttg.barrier"() <{addrSpace = 9 : i32}> : () -> ()
%0 = "tt.ptr_to_int"(%p) : (!tt.ptr<f32>) -> i64
%0 = "tt.int_to_ptr"(%l) : (i64) -> !tt.ptr<f32, "constant">
%0 = arith.constant dense<[1,2]> : tensor<2xi32>
%0 = arith.constant dense<[[1.0,0x7F800000],[3.0, 3.14159]]> : tensor<2x2xf32>
%0 = arith.constant {a.b = [1, 2.0, 3 : i32, "x", unit, @foo, i32, {a = 1}]} -1.23456789 : f32
%0 = arith.constant {a.b = "x" , c.d = -5 : index, e.f = 4 : si8, g.h = 200 : ui8} 1.0e-20 : f32
%0 = arith.constant 0xFFFF : bf16
%0 = arith.constant 3.1 : bf16
%0 = arith.constant 1.0e10 : f8E5M2
%0 = arith.constant 0.1 : f64
%0 = arith.constant 123456789.0 : f64
%0 = arith.constant 65504.0 : f16
%0 = arith.constant 1.0e30 : f32
%0 = arith.constant 3.40282346e+38 : f32
%0 = arith.constant 1.17549435E-38 : f32
%0 = arith.constant 16777215.0 : f32
%0 = arith.constant 33554431.0 : f64
%0 = arith.constant 0.15625 : f32
%0 = arith.constant 1234567.5 : f64
%0 = arith.constant 0.0009765625123 : f64
%0 = arith.constant 5 : index
%0 = "scf.while"(%i) ({ ^bb0(%x: i32): "scf.condition"(%b, %x) : (i1, i32) -> () }, { ^bb0(%y: i32) : "scf.yield"(%y) : (i32) -> ()}) {a.b} : (i32) -> i32
"scf.if"(%b) ({ "scf.yield"() : () -> () }, {}) {a.b} : (i1) -> ()
%0:2 = "scf.if"(%b) ({ "scf.yield"(%i, %f) : (i32, f32) -> () }, {"scf.yield"(%i, %f) : (i32, f32) -> ()}) {a.b} : (i1) -> (i32, f32)
"scf.for"(%i, %i, %i) ({ ^bb0(%x: i32): "scf.yield"() : () -> () }) {a.b, unsignedCmp} : (i32, i32, i32) -> ()
"tt.grid_dependency_wait"() : () -> ()
"tt.grid_dependency_launch_dependents"() {a.b} : () -> ()
%0 = "arith.constant"() <{value = dense<1> : tensor<2x3xi64>}> {tt.divisibility = dense<16> : tensor<1xi32>} : () -> tensor<2x3xi64>
llvm.intr.assume %b : i1
ttg.barrier all
%0 = arith.addi %i, %i overflow<nsw, nuw> : i32
%0 = arith.addf %f, %f fastmath<contract> {x.y} : f32
%0 = math.exp %f fastmath<fast> : f32
%0 = arith.truncf %f to_nearest_even : f32 to f16
%0 = arith.cmpf olt, %f, %f fastmath<nnan> : f32
%0 = arith.extui %b nneg : i1 to i32
%0 = arith.divsi %i, %i exact : i32
%0 = tt.fp_to_fp %f {a.b}, rounding = rtz : f32 -> f8E5M2
%0 = tt.atomic_rmw exch, acq_rel, gpu, %p, %f, %b : (!tt.ptr<f32>, f32, i1) -> f32
%0 = ub.poison : tensor<4xf32>
%0 = tt.reshape %v allow_reorder efficient_layout {a.b} : tensor<16xf32> -> tensor<4x4xf32>
%0 = ttg.convert_layout %v : tensor<16xf32> -> tensor<16xf32>
%0 = arith.select %b, %v, %v : tensor<16xf32>
%0 = arith.trunci %i overflow<nsw> : i32 to i8
%0 = arith.shli %i, %i overflow<nsw> : i32
%0 = math.erf %f fastmath<none> : f32
%0 = arith.shrui %i, %i exact : i32
%0 = arith.uitofp %i nneg : i32 to f32
%0 = "tt.load"(%tp, %m, %v) <{cachePolicy = #tt.cache_policy<cache_modifier = none, eviction_policy = evict_last>, isVolatile = true, operandSegmentSizes = array<i32: 1,1,1>}> : (tensor<16x!tt.ptr<f32>>, tensor<16xi1>, tensor<16xf32>) -> tensor<16xf32>
%1 = "tt.get_program_id"() <{axis = 2 : i32}> : () -> i32
%2 = "tt.reshape"(%a) <{allow_reorder, efficient_layout}> {tt.foo = 3 : i64} : (tensor<16x16xf16>) -> tensor<256xf16>
%3 = "tt.fp_to_fp"(%v) <{rounding = 1 : i32}> : (tensor<16xf32>) -> tensor<16xf16>
%31 = "tt.fp_to_fp"(%v) <{rounding = 0 : i32}> : (tensor<16xf32>) -> tensor<16xf16>
%4 = "tt.dot"(%a, %a, %c) <{inputPrecision = 0 : i32, maxNumImpreciseAcc = 7 : i32}> : (tensor<16x16xf16>, tensor<16x16xf16>, tensor<16x16xf32>) -> tensor<16x16xf32>
%41 = "tt.dot"(%a, %a, %c) <{inputPrecision = 2 : i32, maxNumImpreciseAcc = 0 : i32}> : (tensor<16x16xf16>, tensor<16x16xf16>, tensor<16x16xf32>) -> tensor<16x16xf32>
%42 = "tt.dot"(%a, %a, %c) <{inputPrecision = 1 : i32, maxNumImpreciseAcc = 0 : i32}> {a.b}: (tensor<16x16xf16>, tensor<16x16xf16>, tensor<16x16xf32>) -> tensor<16x16xf32>
%43 = "tt.dot"(%a, %a, %c) <{inputPrecision = 3 : i32, maxNumImpreciseAcc = 0 : i32}> : (tensor<16x16xf16>, tensor<16x16xf16>, tensor<16x16xf32>) -> tensor<16x16xf32>
%44 = "tt.dot"(%a, %a, %c) <{inputPrecision = 4 : i32, maxNumImpreciseAcc = 0 : i32}> : (tensor<16x16xf16>, tensor<16x16xf16>, tensor<16x16xf32>) -> tensor<16x16xf32>
%5 = "tt.clampf"(%v, %v, %v) <{propagateNan = 65535 : i32}> {x.y = 1 : i32}: (tensor<16xf32>,tensor<16xf32>,tensor<16xf32>) -> tensor<16xf32>
"tt.store"(%tp, %v, %m) <{cachePolicy = #tt.cache_policy<cache_modifier = cs, eviction_policy = evict_first>}> : (tensor<16x!tt.ptr<f32>>, tensor<16xf32>, tensor<16xi1>) -> ()
%6 = "arith.select"(%b, %v, %v) : (i1, tensor<16xf32>, tensor<16xf32>) -> tensor<16xf32>
%7 = "arith.select"(%m, %v, %v) {z.z}: (tensor<16xi1>, tensor<16xf32>, tensor<16xf32>) -> tensor<16xf32>
"tt.assert"(%m) <{message = "hi\0A\"q\" x\\y"}> {q.w} : (tensor<16xi1>) -> ()
"tt.print"(%v, %i) <{prefix = " a", hex = true, isSigned = array<i32: 0, 1>}> : (tensor<16xf32>, i32) -> ()
"tt.print"() <{prefix = " a", hex = true, isSigned = array<i32>}> : () -> ()
%8:2 = "tt.elementwise_inline_asm"(%v, %v) <{asm_string = "foo\0A bar", constraints = "=r", pure = true, packed_element = 2 : i32}> : (tensor<16xf32>, tensor<16xf32>) -> (tensor<16xf32>, tensor<16xi32>)
%10 = "tt.extern_elementwise"(%v) <{libname="", libpath="", symbol="__x", pure=true}> : (tensor<16xf32>) -> tensor<16xf32>
%11 = "tt.histogram"(%ti, %m) : (tensor<16xi32>, tensor<16xi1>) -> tensor<8xi32>
%12 = "tt.gather"(%v, %ti) <{axis = 0 : i32, efficient_layout}> : (tensor<16xf32>, tensor<16xi32>) -> tensor<16xf32>
%13 = "tt.atomic_rmw"(%tp, %v, %m) <{atomic_rmw_op = 5 : i32, sem = 4 : i32, scope = 1 : i32}> {k.k = 1 : i64} : (tensor<16x!tt.ptr<f32>>, tensor<16xf32>, tensor<16xi1>) -> tensor<16xf32>
%14 = "tt.atomic_cas"(%tpi, %ti, %ti) <{sem = 1 : i32, scope = 2 : i32}> : (tensor<16x!tt.ptr<i32>>, tensor<16xi32>, tensor<16xi32>) -> tensor<16xi32>
"ttg.barrier"() <{addrSpace = 1 : i32}> : () -> ()
"ttg.barrier"() <{addrSpace = 31 : i32}> {foo.x} : () -> ()
"ttg.barrier"() <{addrSpace = 3 : i32}> : () -> ()
"ttg.barrier"() <{addrSpace = 6 : i32}> : () -> ()
%20 = "ub.poison"() : () -> i32
%21 = "arith.constant"() <{value = 1.0 : f64}> {k.k} : () -> f64
%23:2 = "arith.mulsi_extended"(%ti, %ti) : (tensor<16xi32>, tensor<16xi32>) -> (tensor<16xi32>, tensor<16xi32>)
%24 = "arith.truncf"(%v) <{roundingmode = 1 : i32}> : (tensor<16xf32>) -> tensor<16xf16>
%25 = "arith.addi"(%i, %i) <{overflowFlags = #arith.overflow<nsw>}> : (i32, i32) -> i32
%26 = "arith.addf"(%f, %f) <{fastmath = #arith.fastmath<contract>}> : (f32, f32) -> f32
%27 = "math.fma"(%f, %f, %f) {a.c} : (f32, f32, f32) -> f32
%28 = "math.sqrt"(%f) <{fastmath = #arith.fastmath<none>}> : (f32) -> f32
%29 = "arith.index_cast"(%i) : (i32) -> index
%30 = builtin.unrealized_conversion_cast %ti : tensor<16xi32> to tensor<1x16xi32> {foo.a}
%0 = "tt.unsplat"(%one) {q.q} : (tensor<1xf32>) -> f32
%0 = "tt.atomic_poll"(%pi, %i) <{sem = 2 : i32, scope = 1 : i32}> : (!tt.ptr<i32>, i32) -> i1
%0 = "tt.atomic_poll"(%pi, %i, %l) <{sem = 2 : i32, scope = 3 : i32}> : (!tt.ptr<i32>, i32, i64) -> i1
