// Transpositions on a GPU: tiles pass through shared memory, so that warps read and write whole lines.
#ifndef TAILOR_CODEGEN_CUDA_TRANSPOSE_TILES_H_
#define TAILOR_CODEGEN_CUDA_TRANSPOSE_TILES_H_

#include <cstdint>
#include <optional>
#include <string>

#include "codegen/cuda/schedule_cuda.h"
#include "codegen/transposition.h"
#include "llvm/IR/Module.h"

namespace tailor {

inline constexpr int kTransposeTile = 32;      // elements along both axes
inline constexpr int kTransposeThreads = 256;  // of a block, which has one tile at a time

// Shared memory for one tile of each load, whose rows are an element longer than the tile: columns then lie in distinct
// banks.
int64_t SharedBytes(const KernelPlan& plan, const Transposition& how);

// None where FindTransposition finds none, or either axis is too short for tiles, or they take too much memory.
std::optional<Transposition> TransposedTiles(const KernelPlan& plan);

// Adds kernel `name` for a version of shape kTransposed.
void EmitTransposition(const KernelPlan& plan, const CudaVersion& version, llvm::Module& module,
                       const std::string& name);

}  // namespace tailor

#endif  // TAILOR_CODEGEN_CUDA_TRANSPOSE_TILES_H_
