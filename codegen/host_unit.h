// What the functions of one host program share while they are emitted, and the memo they communicate through.
#ifndef TAILOR_CODEGEN_HOST_UNIT_H_
#define TAILOR_CODEGEN_HOST_UNIT_H_

#include <utility>
#include <vector>

#include "codegen/emit_host.h"
#include "codegen/host_shapes.h"
#include "llvm/IR/Module.h"

namespace tailor {

// Word numbers in RtContext::memo. Word 0 is nonzero while the rest is valid.
struct HostMemo {
  struct Output {
    int dims, bytes;
  };
  struct LaunchWords {
    int kernel, tasks, grain, arguments;  // `arguments`: the KernelArgs block itself
  };
  std::vector<std::pair<int, int>> keys;  // (input, dim): all extents that bindings and checks read
  int first_key = 1;
  int workers = 0, workspace = 0;  // keys too
  std::vector<Output> outputs;
  std::vector<LaunchWords> launches;
  int fault = -1;  // four words {check id + 1, value, extent, unused}; -1: no launch can fault
  int size = 0;
};

HostMemo LayOutMemo(const HostProgram& program, const std::vector<EmittedKernel>& kernels);

struct HostUnit {
  const HostProgram& program;
  const std::vector<EmittedKernel>& kernels;
  llvm::Module& module;
  HostMemo memo;
  llvm::Function* first_fit = nullptr;  // null without workspace blocks
  llvm::Value* placement = nullptr;     // its table
};

inline int64_t MemoByte(int word) { return 8 * static_cast<int64_t>(word); }

// Whether a launch of `plan` gets a slice of scratch, that is, whether it has row buffers.
bool HasScratch(const KernelPlan& plan);
// The function of version `version`, declared in the unit's module.
llvm::Function* KernelFunction(const HostUnit& unit, int kernel, size_t version);
std::vector<LaunchShape> ShapesOfLaunches(const HostUnit& unit, HostShapes& shapes);

// Emits `i32 tailor.layout(api, context, in)`: solves the symbols, checks shapes, makes the workspace large enough,
// and writes into the memo whatever depends on dims alone. Until all of it is written the memo is invalid.
llvm::Function* EmitLayout(const HostUnit& unit);

}  // namespace tailor

#endif  // TAILOR_CODEGEN_HOST_UNIT_H_
