// The stages of a loop or row kernel, for the rows at hand: a loop nest each. Lanes run either along a parallel axis
// (every stage handles a vector of rows' elements at once: elementwise kernels, reductions over outer dims) or along an
// axis of a stage (each row's loops are vectorized: softmax, layer norm, scans of rows).
#ifndef TAILOR_CODEGEN_CPU_LOOPS_STAGE_LOOPS_H_
#define TAILOR_CODEGEN_CPU_LOOPS_STAGE_LOOPS_H_

#include <deque>
#include <vector>

#include "codegen/cpu/loops/accumulator.h"
#include "codegen/plan/schedule.h"
#include "codegen/scalar/block_sums.h"
#include "codegen/scalar/partial_reductions.h"
#include "codegen/scalar/scalar_emitter.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/IR/IRBuilder.h"

namespace tailor::cpu {

class StageLoops {
 public:
  // Vectors side by side on the lane axis.
  struct Vectors {
    llvm::Value* first = nullptr;
    int count = 1;
    llvm::Value* mask = nullptr;
  };

  // `frame` is the kernel function's. All arguments must outlive this.
  StageLoops(llvm::IRBuilderBase& b, const KernelPlan& plan, const Schedule& schedule, const EmitTarget& target,
             const KernelFrame& frame, const Version& version);

  bool LanesAcrossRows() const { return across_rows_; }
  llvm::Value* DimSizeOf(int axis) { return frames_[0].DimSizeValue(b_, plan_.axes[axis].dim_size); }
  ScalarEmitter& row(int i) { return rows_[i]; }

  // `count` rows, or vectors of rows, are at hand from here on: at most Schedule::rows.
  void SetRows(int count) { rows_end_ = count; }
  int rows() const { return rows_end_; }
  // The axes that tasks number, outer first, and how many tasks lie along each: the parallel ones, last the lane axis
  // by chunks of Schedule::lane_chunk, where it is one of them.
  std::vector<int> TaskAxes() const;
  llvm::Value* TasksAlong(int axis);
  // Puts `row` where the first digits of a task say. Returns which chunk of the lane axis that is; null without chunks.
  llvm::Value* Place(ScalarEmitter& row, const std::vector<int>& axes, const std::vector<llvm::Value*>& digits) const;
  PartSpan ChunkSpan(llvm::Value* chunk);
  // The row buffers of row `i`, or of a vector of rows, lie at `scratch`; returns their end.
  llvm::Value* PlaceBuffers(int i, llvm::Value* scratch);
  // Loops along `axis` walk `span` of it alone.
  void SetSpan(int axis, PartSpan span);

  // Lanes across rows: runs `body` with the rows of `chunk` at hand, some vectors of them at a time.
  void EmitRowVectors(PartSpan chunk, llvm::function_ref<void(const Vectors&)> body);
  // Moves the lanes of `row` to vector number `u`.
  void Enter(ScalarEmitter& row, const Vectors& vectors, int u);

  void EmitStages();
  void EmitStage(const Stage& stage);
  // Of rows in flight (codegen/cpu/loops/rows_in_flight.h): the one at hand, the next one and the one before.
  enum RowInFlight { kHere, kNext, kBefore };
  // The first stage of the next row.
  void EmitFirstStage();
  // The stages of the row at hand after its first, without the last where Schedule::behind; in the loops of
  // Schedule::ahead those of its neighbours that are asked for.
  void EmitOtherStages(bool with_next, bool with_before);
  // The last stage of the row before.
  void EmitLastStage();
  void Forget();

 private:
  // A stage of one of the rows at hand.
  struct Pass {
    const Stage* stage;
    int row;
  };
  using Sums = std::vector<std::vector<Accumulator>>;  // by pass and statement

  template <typename F>
  void ForEachRow(F f) {
    for (int row = rows_begin_; row < rows_end_; ++row) f(rows_[row]);
  }
  PartSpan SpanOf(int axis);
  // How often the loops of `axes` add to an accumulator, of which there are `unroll` where lanes run along one of them.
  int64_t MostSteps(const std::vector<int>& axes, int unroll) const;
  // `blocks` where the body reduces: unrolled turns are steps of it, the others are not.
  void EmitVectors(PartSpan span, int unroll, BlockSums* blocks, llvm::function_ref<void(const Vectors&)> body);
  void EmitRowByRow(const Stage& stage);
  void EmitStageOf(const Stage& stage, int row);
  // `is_step`: the body is one step of `blocks`. Then the innermost loop is straight code where it is short.
  void EmitScalarLoops(const std::vector<int>& axes, size_t depth, bool is_step, BlockSums& blocks,
                       llvm::function_ref<void()> body);
  void EmitPasses(const std::vector<Pass>& passes);
  void EmitStatements(const std::vector<Pass>& passes, const Vectors& vectors, bool enters, bool scans, Sums& sums);
  llvm::Value* EmitStatement(ScalarEmitter& row, const Statement& s, Accumulator& sum, int u);
  llvm::Value* Stored(const Statement& s, llvm::Value* result);
  void EmitScanStep(ScalarEmitter& row, const Statement& s, llvm::Value* value, llvm::AllocaInst* slot);

  llvm::IRBuilderBase& b_;
  const KernelPlan& plan_;
  const Schedule& schedule_;
  const EmitTarget& target_;
  const bool across_rows_;
  std::deque<KernelFrame> frames_;     // by row; where they differ is in the addresses of row buffers
  std::deque<ScalarEmitter> rows_;     // of those that run side by side, or of vectors of them
  int rows_begin_ = 0, rows_end_ = 1;  // those that are emitted now
  Vectors across_;                     // where lanes run across rows: those at hand
  int span_axis_ = -1;
  PartSpan span_ = {};
};

}  // namespace tailor::cpu

#endif  // TAILOR_CODEGEN_CPU_LOOPS_STAGE_LOOPS_H_
