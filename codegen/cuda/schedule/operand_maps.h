// The operands of a matmul as tensors that boxes are loaded of (TMA): what the runtime is told of them.
#ifndef TAILOR_CODEGEN_CUDA_SCHEDULE_OPERAND_MAPS_H_
#define TAILOR_CODEGEN_CUDA_SCHEDULE_OPERAND_MAPS_H_

#include <optional>
#include <vector>

#include "codegen/contract/tensor_map.h"
#include "codegen/cuda/schedule/matmul_tile.h"
#include "codegen/plan/contraction.h"

namespace tailor::cuda {

// The maps of a matmul on warpgroups, in the order in which its kernel has them.
enum OperandMapIndex : int {
  kRhsMap,  // [panels of all batch indices][K / s][16 s]; boxes [tile columns / 16][depth / s][16 s], as memory has
            // them
  kLhsMap,  // [outer][inner][K]; boxes [tile rows][1][depth], swizzled by 128 bytes. Absent unless RowDimOf
};

// The dim of the lhs's buffer along which the matmul's rows run, one by one, where its elements along K are
// its last dim: nothing else can be a box of it. Then [outer][inner] are the dims up to that one, and those behind.
std::optional<size_t> RowDimOf(KernelPlan plan, const Contraction& contraction);

// The steps s of K that are one row of kRhsMap: the longer rows are, the fewer requests the second-level cache gets.
int RhsBoxSteps(const KernelPlan& plan, const Contraction& contraction, const MatmulTile& tile);

std::vector<TensorMap> OperandMaps(const KernelPlan& plan, const Contraction& contraction, const MatmulTile& tile);

}  // namespace tailor::cuda

#endif  // TAILOR_CODEGEN_CUDA_SCHEDULE_OPERAND_MAPS_H_
