// Loops that store along one axis of memory and load along another: tiles of both pass through shared memory, so that
// warps read and write whole lines.
#ifndef TAILOR_CODEGEN_CUDA_TRANSPOSE_TILES_H_
#define TAILOR_CODEGEN_CUDA_TRANSPOSE_TILES_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "codegen/cuda/schedule_cuda.h"
#include "codegen/kernel_plan.h"
#include "llvm/IR/Module.h"

namespace tailor {

inline constexpr int kTransposeTile = 32;      // elements along both axes
inline constexpr int kTransposeThreads = 256;  // of a block, which has one tile at a time

struct Transposition {
  int stored = -1;            // neighbours along this axis are neighbours in all outputs
  int loaded = -1;            // and along this one in `loads`
  std::vector<ExprId> loads;  // not along `stored`

  // Shared memory for one tile of each load, whose rows are an element longer than the tile: columns then lie in
  // distinct banks.
  int64_t SharedBytes(const KernelPlan& plan) const;
};

// None if `plan` is no plain loop, or stores and loads along one axis, or either axis is known to be short.
std::optional<Transposition> FindTransposition(const KernelPlan& plan);

// Adds kernel `name` for a version of shape kTransposed.
void EmitTransposition(const KernelPlan& plan, const CudaVersion& version, llvm::Module& module,
                       const std::string& name);

}  // namespace tailor

#endif  // TAILOR_CODEGEN_CUDA_TRANSPOSE_TILES_H_
