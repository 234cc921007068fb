// The entry point of the compiler: graph in, Program out. The steps are in pipeline.cc.
#ifndef TAILOR_CODEGEN_DRIVER_COMPILE_H_
#define TAILOR_CODEGEN_DRIVER_COMPILE_H_

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "codegen/backend/code_bounds.h"
#include "codegen/contract/cost_profile.h"
#include "codegen/contract/program.h"
#include "graph/graph.h"

namespace tailor::driver {

struct CompiledProgram;

// Runs a program for CPUs that has no inputs, once, on up to `threads` threads: the bytes of its outputs. Calls
// `at_interval` several times per second; its failure ends the run and is returned.
using RunConstants = std::function<absl::StatusOr<std::vector<ConstantData>>(
    const CompiledProgram& program, int threads, const std::function<absl::Status()>& at_interval)>;

// Denormal numbers on CPUs. kAuto: flushed to zero if the weights have some (codegen/driver/denormals.h).
enum class Denormals { kAuto, kKeep, kFlush };

struct CompileOptions {
  // Empty: all CPU levels; "host": this machine's. "sm_80", "sm_90", "sm_90a": NVIDIA GPUs; "cuda": all of these.
  // "simt": for the emulator of the tests.
  std::vector<std::string> targets;
  int threads = 0;  // 0: the number of the machine's CPUs
  backend::CodeBounds bounds;
  std::vector<std::string> donated;  // inputs whose memory runs may overwrite
  bool offer_products = false;       // a matmul provider may compute external gemms
  bool allow_tf32 = false;           // f32 matmuls on GPUs may round their operands to tf32
  bool direct_convolutions = false;  // no Winograd convolutions on CPUs
  Denormals denormals = Denormals::kAuto;
  std::vector<std::string> without;  // of OptionalPasses(): passes to leave out
  bool optimize = true;              // false: of CPU code, LLVM's code generation optimizes only micro-kernels
  uint64_t memory_limit = 0;         // limit in bytes on codegen/backend/memory_estimate.h; 0: none
  RunConstants run_constants;        // empty: runs compute constant subgraphs
  // Of the machine to compile for, the only CPU target; null: the built-in profiles.
  std::shared_ptr<const CostProfile> cost_profile;
  // Receives the phase and the share done (0 to 1); returning false cancels.
  std::function<bool(const char* phase, double done)> progress;
};

// A Program and the owners of the memory that its spans point to.
struct CompiledProgram {
  Program program;
  std::vector<std::shared_ptr<const void>> constants;  // of program.constants, by index
  std::vector<std::shared_ptr<const void>> variants;   // of program.variants, by index
};

// The names that `without` may have, in the order in which the passes run.
std::vector<std::string> OptionalPasses();

// Compiles `graph` for all targets of `options`. Borrows both for the call. Runs up to `threads` threads; `progress` is
// called on the caller's thread. Errors: those of the steps (codegen/driver/pipeline.cc); CANCELLED by `progress`;
// RESOURCE_EXHAUSTED over memory_limit or a code bound.
absl::StatusOr<CompiledProgram> Compile(const Graph& graph, const CompileOptions& options);

}  // namespace tailor::driver

#endif  // TAILOR_CODEGEN_DRIVER_COMPILE_H_
