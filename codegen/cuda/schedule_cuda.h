// How a KernelPlan of loops or rows runs on a GPU: who does what, how many blocks, what memory. Printable.
#ifndef TAILOR_CODEGEN_CUDA_SCHEDULE_CUDA_H_
#define TAILOR_CODEGEN_CUDA_SCHEDULE_CUDA_H_

#include <cstdint>
#include <string>
#include <vector>

#include "codegen/kernel_plan.h"
#include "codegen/schedule.h"
#include "fusion/target_traits.h"

namespace tailor {

struct CudaSchedule {
  enum class Shape : uint8_t {
    kThreadPerElement,  // a grid-stride loop over the parallel axes; tile axes are loops of one thread
    kBlockPerRow,       // a block takes a point of the parallel axes; its threads share the tile axes
  };
  // One kernel per entry, tried in order; the last has no guards.
  struct Variant {
    Version version;
    // Row buffers lie in the block's shared memory, else in global scratch.
    bool rows_in_shared = false;
  };

  Shape shape = Shape::kThreadPerElement;
  int threads = 256;
  std::vector<Variant> variants{1};
  // DimExprs over slots (symbol i is slot i), as in Schedule.
  DimExpr blocks;
  DimExpr row_bytes;  // row buffers of one block, each 64-byte aligned
  // Shared memory before the row buffers: one 8-byte cell a warp for each reduction of a stage.
  int64_t partial_bytes = 0;

  std::string Text() const;
};

// Requires a plan that is neither a contraction nor a chain.
CudaSchedule ScheduleCudaLoops(const KernelPlan& plan, const TargetTraits& traits);

}  // namespace tailor

#endif  // TAILOR_CODEGEN_CUDA_SCHEDULE_CUDA_H_
