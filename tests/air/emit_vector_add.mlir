// RUN: tm-emit --macos=15 %s | filecheck %s
// RUN: tm-emit --macos=13 %s | filecheck --check-prefix=OLD %s
// RUN: tm-emit --macos=26 %s | filecheck --check-prefix=NEW %s
// RUN: tm-emit --passes=plan,barriers --macos=15 %s | llvm-as-14 - -o /dev/null
// RUN: for v in 13 14 15 26; do tm-emit --passes=plan,barriers --macos=$v --bitcode %s >%t.$v.w && opt-14 -mtriple=x86_64 -passes=verify %t.$v.w -o /dev/null || exit 1; done
// A whole module: target strings, parameters and their metadata, a masked load and store.
// CHECK: target triple = "air64_v27-apple-macosx15.0.0"
// CHECK: %struct.Scalars = type { i32, i8, half }
// CHECK: define void @add(float addrspace(1)* noundef %0, i8 addrspace(1)* noundef %1, %struct.Scalars addrspace(2)* noundef align 4 dereferenceable(8) "air-buffer-no-alias" %2, i32 noundef %3, i32 noundef %4) local_unnamed_addr
// CHECK: getelementptr inbounds %struct.Scalars, %struct.Scalars addrspace(2)* %2, i64 0, i32 0
// CHECK: load i32, i32 addrspace(2)*
// CHECK: icmp ne i8
// CHECK: getelementptr inbounds float, float addrspace(1)* %0, i64
// CHECK: br i1
// CHECK: load float, float addrspace(1)*
// CHECK: phi float
// CHECK: zext i1
// CHECK: store i8
// CHECK: ret void
// CHECK: "max-work-group-size"="128"
// CHECK: !air.kernel = !{
// CHECK: !air.version = !{
// CHECK-DAG: !{i32 2, i32 7, i32 0}
// CHECK-DAG: !{!"Metal", i32 3, i32 2, i32 0}
// CHECK-DAG: !{i32 0, !"air.buffer", !"air.location_index", i32 0, i32 1, !"air.read", !"air.address_space", i32 1, !"air.arg_type_size", i32 4, !"air.arg_type_align_size", i32 4, !"air.arg_type_name", !"float", !"air.arg_name", !"{{.*}}"}
// CHECK-DAG: !{i32 1, !"air.buffer", !"air.location_index", i32 1, i32 1, !"air.read_write", !"air.address_space", i32 1, !"air.arg_type_size", i32 1, !"air.arg_type_align_size", i32 1, !"air.arg_type_name", !"bool", !"air.arg_name", !"{{.*}}"}
// CHECK-DAG: !{i32 2, !"air.buffer", !"air.buffer_size", i32 8, !"air.location_index", i32 2, i32 1, !"air.read", !"air.address_space", i32 2, !"air.struct_type_info", !{{[0-9]+}}, !"air.arg_type_size", i32 8, !"air.arg_type_align_size", i32 4, !"air.arg_type_name", !"Scalars", !"air.arg_name", !"scalars"}
// CHECK-DAG: !{i32 3, !"air.threadgroup_position_in_grid", !"air.arg_type_name", !"uint", !"air.arg_name", !"pid"}
// CHECK-DAG: !{i32 4, !"air.thread_index_in_simdgroup", !"air.arg_type_name", !"uint", !"air.arg_name", !"lane"}
// CHECK-DAG: !{!"air.max_work_group_size", i32 128}
// CHECK-DAG: !{!"air.compile.fast_math_disable"}
// CHECK-DAG: !{!"air.compile.denorms_disable"}
// OLD: target triple = "air64-apple-macosx13.0.0"
// OLD-DAG: !{i32 2, i32 5, i32 0}
// OLD-DAG: !{!"Metal", i32 3, i32 0, i32 0}
// NEW: target triple = "air64_v28-apple-macosx26.0.0"
// NEW-DAG: !{i32 2, i32 8, i32 0}
// NEW-DAG: !{!"Metal", i32 4, i32 0, i32 0}
module {
  tt.func public @add(%x: !tt.ptr<f32>, %y: !tt.ptr<i1>, %n: i32, %flag: i1, %h: f16) {
    %zero = arith.constant 0.0 : f32
    %c32 = arith.constant 32 : i32
    %pid = tt.get_program_id x : i32
    %lane = tm.lane_id : () -> i32
    %base = arith.muli %pid, %c32 : i32
    %i = arith.addi %base, %lane : i32
    %in = arith.cmpi slt, %i, %n : i32
    %ok = arith.andi %in, %flag : i1
    %px = tt.addptr %x, %i : !tt.ptr<f32>, i32
    %py = tt.addptr %y, %i : !tt.ptr<i1>, i32
    %hf = arith.extf %h : f16 to f32
    %v = scf.if %ok -> (f32) {
      %l = tm.load %px {align = 4 : i32} : (!tt.ptr<f32>) -> f32
      scf.yield %l : f32
    } else {
      scf.yield %zero : f32
    }
    %b = arith.cmpf olt, %v, %hf : f32
    scf.if %ok {
      tm.store %py, %b {align = 1 : i32} : (!tt.ptr<i1>, i1) -> ()
    }
    tt.return
  }
}
