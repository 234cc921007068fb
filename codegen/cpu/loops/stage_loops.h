// Emits the stages of a loop or row kernel for the current rows: one loop nest per stage. Lanes run either along a
// parallel axis (every stage handles a vector of rows: elementwise kernels, reductions over outer dims) or along an
// axis of a stage (each row's loops are vectorized: softmax, layer norm, scans of rows).
#ifndef TAILOR_CODEGEN_CPU_LOOPS_STAGE_LOOPS_H_
#define TAILOR_CODEGEN_CPU_LOOPS_STAGE_LOOPS_H_

#include <deque>
#include <optional>
#include <vector>

#include "codegen/cpu/loops/accumulator.h"
#include "codegen/plan/long_tasks.h"
#include "codegen/plan/schedule.h"
#include "codegen/scalar/block_sums.h"
#include "codegen/scalar/partial_reductions.h"
#include "codegen/scalar/scalar_emitter.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/IR/IRBuilder.h"

namespace tailor::cpu {

class StageLoops {
 public:
  // Adjacent vectors along the lane axis.
  struct Vectors {
    llvm::Value* first = nullptr;
    int count = 1;
    llvm::Value* mask = nullptr;
    bool at_multiples = false;  // `first` is a multiple of the lanes
  };

  // `frame` is the kernel function's. All arguments must outlive this.
  StageLoops(llvm::IRBuilderBase& b, const KernelPlan& plan, const Schedule& schedule, const EmitTarget& target,
             const KernelFrame& frame, const Version& version);

  bool LanesAcrossRows() const { return across_rows_; }
  llvm::Value* DimSizeOf(int axis) { return frames_[0].DimSizeValue(b_, plan_.axes[axis].dim_size); }
  ScalarEmitter& row(int i) { return rows_[i]; }

  // Makes `count` rows, or vectors of rows, the current ones: at most Schedule::interleaved_rows.
  void SetRows(int count) { rows_end_ = count; }
  int rows() const { return rows_end_; }
  // The axes that tasks number, outer first, and the number of tasks along each: the parallel axes. The lane axis comes
  // last, in chunks of Schedule::lane_chunk, if it is parallel.
  std::vector<int> TaskAxes() const;
  llvm::Value* TasksAlong(int axis);
  // Sets the axes of `row` to the first digits of a task. Returns the chunk of the lane axis; null without chunks.
  llvm::Value* Place(ScalarEmitter& row, const std::vector<int>& axes, const std::vector<llvm::Value*>& digits) const;
  PartSpan ChunkSpan(llvm::Value* chunk);
  // Places the row buffers of row `i`, or vector of rows `i`, at `scratch`; returns their end.
  llvm::Value* PlaceBuffers(int i, llvm::Value* scratch);
  // The address of `buffer` of row `i`, or vector of rows `i`.
  llvm::Value* AddressOf(int i, int buffer) const { return frames_[i].buffers[buffer]; }
  // Restricts loops along `axis` to `span`.
  void SetSpan(int axis, PartSpan span);

  // Lanes across rows: runs `body` for the rows of `chunk`, some vectors of current rows at a time.
  void EmitRowVectors(PartSpan chunk, llvm::function_ref<void(const Vectors&)> body);
  // Lanes across rows: runs all stages for the whole vectors of `chunk`, which begins at one in the output, with
  // streaming stores. Returns where they end.
  llvm::Value* EmitStreamedVectors(PartSpan chunk);
  // Moves the lanes of `row` to vector number `u`.
  void Enter(ScalarEmitter& row, const Vectors& vectors, int u);

  void EmitStages();
  void EmitStage(const Stage& stage);
  // Software-pipelined rows (codegen/cpu/loops/pipelined_rows.h): the current, the next and the previous row.
  enum RowInFlight { kHere, kNext, kBefore };
  // The first stage of the next row.
  void EmitFirstStage();
  // The stages of the current row after its first, without the last if Schedule::defer_last_stage. In the loops of
  // stage Schedule::overlap_stage run the next row's first stage (`with_next`) and the previous row's last one
  // (`with_before`).
  void EmitOtherStages(bool with_next, bool with_before);
  // The last stage of the previous row.
  void EmitLastStage();
  void Forget();

 private:
  // A stage of one of the current rows.
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
  // Upper bound of the additions to one accumulator in the loops of `axes`, with `unroll` accumulators along the lane
  // axis.
  int64_t MostSteps(const std::vector<int>& axes, int unroll) const;
  // `blocks` (null: none) counts the unrolled iterations as steps, the remaining ones not.
  void EmitVectors(PartSpan span, int unroll, BlockSums* blocks, llvm::function_ref<void(const Vectors&)> body);
  void EmitRowByRow(const Stage& stage);
  void EmitStageOf(const Stage& stage, int row);
  // `is_step`: the body is one step of `blocks`. Then a short innermost loop is emitted as straight code.
  void EmitScalarLoops(const std::vector<int>& axes, size_t depth, bool is_step, const std::optional<PollPoint>& poll,
                       BlockSums& blocks, llvm::function_ref<void()> body);
  void EmitPasses(const std::vector<Pass>& passes);
  // Runs `loops`, which loop along `axis`, in the blocks of `poll` if that is its axis.
  void EmitPolled(const std::optional<PollPoint>& poll, int axis, llvm::function_ref<void()> loops);
  void EmitStatements(const std::vector<Pass>& passes, const Vectors& vectors, bool enters, bool scans, Sums& sums);
  llvm::Value* EmitStatement(ScalarEmitter& row, const Statement& s, Accumulator& sum, int u);
  llvm::Value* Stored(const Statement& s, llvm::Value* result);
  void EmitScanStep(ScalarEmitter& row, const Statement& s, llvm::Value* value, llvm::AllocaInst* slot);

  llvm::IRBuilderBase& b_;
  const KernelPlan& plan_;
  const Schedule& schedule_;
  const EmitTarget& target_;
  const bool across_rows_;
  std::deque<KernelFrame> frames_;     // by row; they differ in the addresses of row buffers
  std::deque<ScalarEmitter> rows_;     // side by side: rows, or vectors of rows
  int rows_begin_ = 0, rows_end_ = 1;  // the rows being emitted
  Vectors across_;                     // the current ones, where lanes run across rows
  int span_axis_ = -1;
  PartSpan span_ = {};
};

}  // namespace tailor::cpu

#endif  // TAILOR_CODEGEN_CPU_LOOPS_STAGE_LOOPS_H_
