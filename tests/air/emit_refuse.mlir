// RUN: not tm-emit --macos=15 %s 2>&1 | filecheck %s
// RUN: not tm-emit --macos=12 %s 2>&1 | filecheck --check-prefix=OS %s
// CHECK: TM4302: AIR has no type f64
// OS: TM4304
module {
  tt.func public @k(%p: !tt.ptr<f64>) {
    tt.return
  }
}
