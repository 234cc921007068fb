// What the functions of one host program share while they are emitted, and the shape cache they communicate through.
#ifndef TAILOR_CODEGEN_HOST_EMIT_HOST_UNIT_H_
#define TAILOR_CODEGEN_HOST_EMIT_HOST_UNIT_H_

#include <utility>
#include <vector>

#include "codegen/host/emit/emit_host.h"
#include "codegen/host/emit/host_shapes.h"
#include "llvm/IR/Module.h"

namespace tailor::host {

// Word numbers in RtContext::shape cache. All programs of a compilation share it, each has words of its own.
struct ShapeCache {
  struct Output {
    int dims, bytes;
  };
  struct LaunchWords {
    int kernel = 0;                                  // its address; on a device its number
    int tasks = 0, tasks_per_chunk = 0, phases = 0;  // on the host; the last is HostLaunch::Phases::word
    int grid = 0;                                    // on a device: a LaunchGrid
    int arguments = 0;                               // the KernelArgs block itself
  };
  // A block is a TensorArg each of the call's arguments (or results), then their dim sizes.
  struct CallWords {
    int arguments = -1;
    int places[2] = {-1, -1};  // kWhile: the blocks that the body writes to, by turns
    int condition = -1;        // a TensorArg
    int results = -1;          // block
    int read = -1;             // where a value of the device's memory is read back to
  };
  struct GemmWords {
    int taken, args;  // not 0: by the runtime; a GemmArgs
  };
  int valid = 0;                          // nonzero while the rest is
  std::vector<std::pair<int, int>> keys;  // (input, dim): all dim sizes that bindings and checks read
  int first_key = 0;
  int workers = 0, workspace = 0;  // keys too
  int base = -1;                   // a TensorArg: where the workspace of a called program begins
  std::vector<Output> outputs;
  std::vector<LaunchWords> launches;
  std::vector<CallWords> calls;
  std::vector<GemmWords> gemms;
  int fault = -1;  // of the run: four words {check id + 1, value, dim size, unused}; -1: no launch can fault
};

struct HostUnit {
  int number;  // of the program; 0 is what a run calls
  KernelPlace place;
  const HostProgram& program;
  const std::vector<EmittedKernel>& kernels;
  llvm::Module& module;
  ShapeCache shape_cache;
  llvm::Function* first_fit = nullptr;  // null without workspace blocks
  llvm::Value* placement = nullptr;     // its table
  const std::vector<HostUnit>* all = nullptr;
};

// The memos of all programs, one behind the other; the first begins at word 0. `size` is that of all.
std::vector<ShapeCache> LayOutShapeCaches(const std::vector<HostProgram>& programs,
                                          const std::vector<EmittedKernel>& kernels, KernelPlace place, int* size);

inline int64_t ShapeCacheByte(int word) { return 8 * static_cast<int64_t>(word); }
inline int64_t TensorByte(int index, size_t field) { return sizeof(TensorArg) * index + field; }

// On the host: the function of version `version`, declared in the unit's module.
llvm::Function* KernelFunction(const HostUnit& unit, int kernel, size_t version);
// "tailor_run" and "tailor_plan" of the program that a run calls, "tailor.run.3" of a region.
std::string HostFunctionName(const char* what, int program);
// Of a program called; its functions are emitted before its callers'.
llvm::Function* CalledFunction(const HostUnit& unit, const char* what, int program);
std::vector<LaunchShape> ShapesOfLaunches(const HostUnit& unit, HostShapes& shapes);

// Emits `i32 tailor.layout(api, context, in)`: solves the symbols, checks shapes, makes the workspace large enough,
// and writes into the shape cache whatever depends on dims alone. Until all of it is written the shape cache is invalid.
llvm::Function* EmitLayout(const HostUnit& unit);
// Emits `run` and `plan` of a program of versions: calls of those of the version that its inputs' dim sizes ask for.
void EmitVersions(const HostUnit& unit);

}  // namespace tailor::host

#endif  // TAILOR_CODEGEN_HOST_EMIT_HOST_UNIT_H_
