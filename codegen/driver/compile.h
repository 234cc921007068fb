// The compiler's one entry: graph in, Program out, the steps between in pipeline.cc.
#ifndef TAILOR_CODEGEN_DRIVER_COMPILE_H_
#define TAILOR_CODEGEN_DRIVER_COMPILE_H_

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "codegen/contract/program.h"
#include "codegen/backend/code_bounds.h"
#include "graph/graph.h"

namespace tailor::driver {

struct CompileOptions {
  // Empty: all CPU levels; "host": this machine's. "sm_80", "sm_90", "sm_90a": NVIDIA GPUs; "cuda": all of these.
  // "simt": for the emulator of the tests.
  std::vector<std::string> targets;
  int threads = 0;  // 0: as many as there are cores
  backend::CodeBounds bounds;
  std::vector<std::string> donated;  // inputs whose memory runs may write
  bool offer_products = false;       // the runtime may have a provider compute plain matmuls
  bool allow_tf32 = false;           // matmuls in f32 on GPUs may round their factors to tf32
  bool direct_convolutions = false;  // none on CPUs is by Winograd's algorithm
  uint64_t memory_limit = 0;         // bytes that codegen/backend/memory_estimate.h must be within; 0: none
  // Phase and share done; false cancels.
  std::function<bool(const char* phase, double done)> progress;
};

// Owns what the program's spans point to.
struct CompiledProgram {
  Program program;
  std::vector<std::shared_ptr<const void>> storage;
};

absl::StatusOr<CompiledProgram> Compile(const Graph& graph, const CompileOptions& options);

}  // namespace tailor::driver

#endif  // TAILOR_CODEGEN_DRIVER_COMPILE_H_
