// RUN: tm-emit --macos=15 %s | filecheck %s
// RUN: tm-emit --macos=13 %s | filecheck --check-prefix=OLD %s
// RUN: tm-emit --passes=plan,barriers --macos=15 %s | llvm-as-14 - -o /dev/null
// RUN: for v in 13 14 15 26; do tm-emit --passes=plan,barriers --macos=$v --bitcode %s >%t.$v.w && opt-14 -mtriple=x86_64 -passes=verify %t.$v.w -o /dev/null || exit 1; done
// bf16 is native from AIR 2.6 on; before, it is its bits, and every op widens and rounds.
// CHECK: define void @k(bfloat addrspace(1)* noundef %0
// CHECK: fadd bfloat
// CHECK: call float @air.fast_exp.f32
// CHECK: fptrunc float %{{[0-9]+}} to bfloat
// CHECK: call bfloat @air.convert.f.bf16.s.i32
// CHECK: call i32 @air.convert.s.i32.f.bf16
// OLD: define void @k(i16 addrspace(1)* noundef %0
// OLD-NOT: bfloat
// OLD: shl i32 %{{[0-9]+}}, 16
// OLD: fadd float
// OLD: lshr i32
// OLD: call float @air.convert.f.f32.s.i32
// OLD: !"air.arg_type_name", !"ushort"
module {
  tt.func public @k(%p: !tt.ptr<bf16>, %n: i32) {
    %v = tm.load %p {align = 2 : i32} : (!tt.ptr<bf16>) -> bf16
    %c = arith.constant 1.5 : bf16
    %s = arith.addf %v, %c : bf16
    %e = math.exp %s : bf16
    %i = arith.sitofp %n : i32 to bf16
    %m = arith.maximumf %e, %i : bf16
    %a = math.absf %m : bf16
    %j = arith.fptosi %a : bf16 to i32
    %t = arith.sitofp %j : i32 to bf16
    %ne = arith.negf %t : bf16
    tm.store %p, %ne {align = 2 : i32} : (!tt.ptr<bf16>, bf16) -> ()
    tt.return
  }
}
