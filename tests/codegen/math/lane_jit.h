// Runs one scalar op, or a function of codegen/math/functions.h, over arrays: emits a loop over `lanes` elements at a
// time for a CPU level, and either jits it in this process or compiles it to an object whose symbols can be read.
#ifndef TAILOR_TESTS_CODEGEN_MATH_LANE_JIT_H_
#define TAILOR_TESTS_CODEGEN_MATH_LANE_JIT_H_

#include <cassert>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "codegen/math/lanes.h"
#include "codegen/scalar/scalar_ops.h"
#include "llvm/ExecutionEngine/Orc/LLJIT.h"
#include "tests/support/levels.h"

namespace tailor::math {

struct OpUse {
  OpKind op;
  DType operand;
  DType result;
  bool uniform = false;  // all lanes of y are the first of them
};

// The best level that this machine runs, else the empty string.
std::string HostCpu();

// The operand type and the result type that `op` gives for it; casts go to `cast_to`.
OpUse UseOf(OpKind op, DType operand, DType cast_to = DType::kInvalid);

// Emits `void @name(ptr out, ptr x, ptr y, ptr z, i64 n)`, n a multiple of `lanes`.
void EmitOpLoop(llvm::Module& module, const EmitTarget& target, const OpUse& use, int lanes, const std::string& name);

// The names that the code of `module`, compiled for `cpu` as kernels are, would need from elsewhere.
std::vector<std::string> UndefinedSymbols(std::unique_ptr<llvm::Module> module, const std::string& cpu);

using MathFunction = std::function<llvm::Value*(const LaneMath&, llvm::Value* x)>;

class LaneJit {
 public:
  LaneJit(const OpUse& use, int lanes, const std::string& cpu = HostCpu());
  // Of `f`, for f32 or f64.
  LaneJit(const MathFunction& f, DType dtype, int lanes, const std::string& cpu = HostCpu());

  template <class Out, class In>
  std::vector<Out> Run(const std::vector<In>& x, const std::vector<In>& y = {}) {
    assert(x.size() % lanes_ == 0);
    std::vector<Out> out(x.size());
    run_(out.data(), x.data(), y.data(), nullptr, static_cast<int64_t>(x.size()));
    return out;
  }
  void Run(void* out, const void* x, const void* y, const void* z, int64_t n) { run_(out, x, y, z, n); }

 private:
  using EmitLoop = std::function<void(llvm::Module&, const EmitTarget&)>;  // of a function "run"
  LaneJit(int lanes, const std::string& cpu, const EmitLoop& emit);

  std::unique_ptr<llvm::orc::LLJIT> jit_;
  void (*run_)(void*, const void*, const void*, const void*, int64_t);
  int lanes_;
};

}  // namespace tailor::math

#endif  // TAILOR_TESTS_CODEGEN_MATH_LANE_JIT_H_
