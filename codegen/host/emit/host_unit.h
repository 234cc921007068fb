// The state shared by the functions of one host program during emission, and the layout of the shape cache through
// which they communicate.
#ifndef TAILOR_CODEGEN_HOST_EMIT_HOST_UNIT_H_
#define TAILOR_CODEGEN_HOST_EMIT_HOST_UNIT_H_

#include <map>
#include <utility>
#include <vector>

#include "codegen/host/emit/emit_host.h"
#include "codegen/host/emit/host_shapes.h"
#include "llvm/IR/Module.h"

namespace tailor::host {

// Word indices (8 bytes each) in RtContext's shape cache. All programs of a compilation share it; each has its own
// words.
struct ShapeCache {
  struct Output {
    int dims, bytes;
  };
  struct LaunchWords {
    int kernel = 0;                                  // the kernel's address; on a device its index
    int tasks = 0, tasks_per_chunk = 0, phases = 0;  // on the host; phases: HostLaunch::Phases::word
    int grid = 0;                                    // on a device: a LaunchGrid
    int arguments = 0;                               // the argument block itself (KernelSignature)
  };
  // A block has one TensorArg per argument (or result) of the call, then their dim sizes.
  struct CallWords {
    int arguments = -1;
    int places[2] = {-1, -1};  // kWhile: the blocks that the body writes alternately
    int condition = -1;        // a TensorArg
    int results = -1;          // a block
    int read = -1;             // host copy of a value read back from device memory
    int workspace = -1;        // kCustom: two words, address and bytes
  };
  struct GemmWords {
    int taken, args;  // taken: nonzero if the runtime accepted it; args: a GemmArgs
  };
  int valid = 0;                          // nonzero if all other words are valid
  std::vector<std::pair<int, int>> keys;  // (input, dim): dim sizes that bindings and checks read
  int first_key = 0;
  int workers = 0, workspace = 0;  // also part of the key
  int base = -1;                   // a TensorArg: start of a called program's workspace
  // Symbols whose values runs read besides those of counters, and where the layout stores them.
  std::map<SymbolId, int> symbols;
  // Counters that leave the layout alone, and their inputs (codegen/host/emit/counters.h): no keys.
  std::map<SymbolId, int> counters;
  std::vector<Output> outputs;
  std::vector<LaunchWords> launches;
  std::vector<CallWords> calls;
  std::vector<GemmWords> gemms;
  int fault = -1;  // four words {check id + 1, value, dim size, unused}; -1: no launch can fault
};

// One host program during emission. Borrows all references and pointers.
struct HostUnit {
  int number;  // program number; 0 is the one that a run calls
  KernelPlace place;
  const HostProgram& program;
  const std::vector<EmittedKernel>& kernels;
  llvm::Module& module;
  ShapeCache shape_cache;
  llvm::Function* first_fit = nullptr;  // null without workspace blocks
  llvm::Value* placement = nullptr;     // its table
  const std::vector<HostUnit>* all = nullptr;
};

// The shape caches of all programs, consecutive from word 0. `size`: total words.
std::vector<ShapeCache> LayOutShapeCaches(const std::vector<HostProgram>& programs,
                                          const std::vector<EmittedKernel>& kernels, KernelPlace place, int* size);

inline int64_t ShapeCacheByte(int word) { return 8 * static_cast<int64_t>(word); }
inline int64_t TensorByte(int index, size_t field) { return sizeof(TensorArg) * index + field; }

// CPU kernels: the function of version `version`, declared in the unit's module.
llvm::Function* KernelFunction(const HostUnit& unit, int kernel, size_t version);
// "tailor_run" and "tailor_plan" for program 0, "tailor.run.3" for others.
std::string HostFunctionName(const char* what, int program);
// The function of a called program; it is emitted before its callers.
llvm::Function* CalledFunction(const HostUnit& unit, const char* what, int program);
std::vector<LaunchShape> ShapesOfLaunches(const HostUnit& unit, HostShapes& shapes);

// Emits `i32 tailor.layout(api, context, in)`: solves the symbols, checks shapes, grows the workspace on demand, and
// stores everything that depends only on dims to the shape cache. The cache is invalid until all of it is stored.
llvm::Function* EmitLayout(const HostUnit& unit);
// Emits `run` and `plan` of a program with versions: they call those of the version that the inputs' dim sizes select.
void EmitVersions(const HostUnit& unit);

}  // namespace tailor::host

#endif  // TAILOR_CODEGEN_HOST_EMIT_HOST_UNIT_H_
