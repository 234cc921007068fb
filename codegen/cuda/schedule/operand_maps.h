// The tensor maps (TMA) of a matmul's operands, as the runtime encodes them.
#ifndef TAILOR_CODEGEN_CUDA_SCHEDULE_OPERAND_MAPS_H_
#define TAILOR_CODEGEN_CUDA_SCHEDULE_OPERAND_MAPS_H_

#include <optional>
#include <vector>

#include "codegen/contract/tensor_map.h"
#include "codegen/cuda/schedule/matmul_tile.h"
#include "codegen/plan/contraction.h"

namespace tailor::cuda {

// The maps of a warpgroup gemm, in the order of its kernel's parameters.
enum OperandMapIndex : int {
  kRhsMap,  // [panels of all batch indices][K / s][16 s]; boxes [tile columns / 16][depth / s][16 s], as stored
  kLhsMap,  // [outer][inner][K]; boxes [tile rows][1][depth], swizzled by 128 bytes. Absent without RowDimOf
};

// The dim of the lhs's buffer along which the matmul's rows run one by one, if K is its last dim; only then the lhs can
// be loaded in boxes. [outer] are the dims up to that one, [inner] those between it and the last.
std::optional<size_t> RowDimOf(KernelPlan plan, const Contraction& contraction);

// Steps s of K per row of kRhsMap: longer rows mean fewer requests to L2.
int RhsBoxSteps(const KernelPlan& plan, const Contraction& contraction, const MatmulTile& tile);

std::vector<TensorMap> OperandMaps(const KernelPlan& plan, const Contraction& contraction, const MatmulTile& tile);

}  // namespace tailor::cuda

#endif  // TAILOR_CODEGEN_CUDA_SCHEDULE_OPERAND_MAPS_H_
