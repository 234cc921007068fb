// Emits KernelPlan expressions as LLVM values: the one scalar emitter for loops, reductions, product
// epilogues, and every target. Given the values of the axes it returns an expression's value, memoized;
// an expression that depends on the lane axis is a vector, others stay scalar.
#ifndef TAILOR_CODEGEN_SCALAR_SCALAR_EMITTER_H_
#define TAILOR_CODEGEN_SCALAR_SCALAR_EMITTER_H_

#include <array>
#include <functional>
#include <optional>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "codegen/plan/kernel_plan.h"
#include "codegen/plan/kernel_signature.h"
#include "codegen/scalar/scalar_ops.h"
#include "llvm/IR/IRBuilder.h"

namespace tailor {

// What a kernel function has at hand once its prologue ran: its parameters (KernelParameter), and what follows from
// them.
struct KernelFrame {
  std::vector<llvm::Value*> buffers;      // by plan buffer: its address; null for kLocal
  std::vector<llvm::Value*> dims;         // i64 per dim slot
  std::vector<llvm::Value*> tensor_maps;  // by number
  llvm::Value* scratch = nullptr;         // this worker's, if the plan has any
  // Any other parameter; null where the kernel has none such.
  llvm::Value* Get(KernelParameter::Kind kind) const { return others[kind]; }
  std::array<llvm::Value*, KernelParameter::kKinds> others = {};
  // Per buffer, metadata that lets accesses to distinct buffers be reordered.
  std::vector<llvm::MDNode*> alias_scope, noalias;
  llvm::Value* DimSizeValue(llvm::IRBuilderBase& b, const DimSize& dim_size) const;
};

// The frame of parameters as `value` gives them.
KernelFrame FrameOf(const KernelPlan& plan, const KernelSignature& signature,
                    llvm::function_ref<llvm::Value*(const KernelParameter&)> value);
// Declares `void @name(ptr args, i64 begin, i64 end, i64 worker)` in `module`, a KernelFn, opens its entry block, loads
// its argument block and leaves `b` at the end of the entry block.
KernelFrame OpenKernelFunction(llvm::IRBuilderBase& b, llvm::Module& module, const KernelPlan& plan,
                               const KernelSignature& signature, llvm::StringRef name);
// Splits the memory at `scratch` (any address space) among the row buffers of `rows` rows, 64 bytes aligned each;
// returns its end.
llvm::Value* PlaceRowBuffers(llvm::IRBuilderBase& b, const KernelPlan& plan, llvm::Value* scratch, KernelFrame& frame,
                             int rows = 1);
// Fills frame.alias_scope and frame.noalias. Buffers are distinct memory, by the host program's layout.
void AddAliasScopes(llvm::LLVMContext& context, const KernelPlan& plan, KernelFrame& frame);

class ScalarEmitter {
 public:
  ScalarEmitter(llvm::IRBuilderBase& b, const EmitTarget& target, const KernelPlan& plan, const KernelFrame& frame)
      : b_(b), target_(target), plan_(plan), frame_(frame) {}

  // Axis values. Setting one forgets every memoized value, for memo entries must dominate their uses.
  void SetAxis(int axis, llvm::Value* index);
  // Lanes run along `axis`: lane i has index first + i. `mask` (<lanes x i1>, null: all) guards memory access.
  // lanes 1 makes the axis a scalar one.
  void SetLanes(int axis, llvm::Value* first, int lanes, llvm::Value* mask);
  // The register value of a kLocal buffer, which loads of it yield; or of a kRow buffer what is wanted while the axes
  // stand where they do, null where that is in memory.
  void SetLocal(int buffer, llvm::Value* value);
  llvm::Value* local(int buffer) const { return locals_.at(buffer); }
  // No dim under kBcastIndex is 1: a version's guards said so.
  void AssumeNoBroadcast() { no_broadcast_ = true; }
  // Row buffers hold `rows` rows, the lanes: first elements, one for each, then the second ones, and so on. Requires
  // HoldsLanes(plan), and so many lanes wherever row buffers are read or written.
  void SetRowsHeld(int rows) { rows_held_ = rows; }
  // Whole vectors go to output buffers past the caches. Requires: the lanes of each such store lie side by side, at an
  // address that is a multiple of the vector's bytes.
  void SetStreaming(bool streams) { streams_ = streams; }
  // Accesses side by side for which `are_whole` says so lie at addresses that are multiples of the vector's bytes, or
  // of 16 where it is larger. Null: none are known to.
  using AreWhole = std::function<bool(int buffer, const std::vector<ExprId>& indices)>;
  void SetWholeVectors(AreWhole are_whole) { are_whole_ = std::move(are_whole); }
  void Forget();

  llvm::Value* Emit(ExprId id);       // scalar unless it depends on the lane axis
  llvm::Value* EmitLanes(ExprId id);  // splat to all lanes
  // Writes `value` (register form, scalar or lanes) to buffer at indices.
  void Store(int buffer, const std::vector<ExprId>& indices, llvm::Value* value);
  // The address that lane 0 has in `buffer`.
  llvm::Value* AddressOf(int buffer, const std::vector<ExprId>& indices);
  int lanes() const { return lanes_; }
  llvm::Value* mask() const { return mask_; }

 private:
  // Where the lanes of an access lie. kUniform, kContiguous, kStepped: `offset` is that of lane 0, in elements.
  // kReversed: that of the last lane, which comes first in memory. kScattered: a vector of offsets.
  enum class Pattern { kUniform, kContiguous, kStepped, kReversed, kScattered };
  struct Address {
    llvm::Value* offset;
    Pattern pattern;
    int64_t step = 0;  // kStepped: from lane to lane
  };
  Address EmitAddress(const Buffer& buffer, const std::vector<ExprId>& indices);
  Address EmitRowMajor(const Buffer& buffer, const std::vector<ExprId>& indices);
  Address EmitPanels(const Buffer& buffer, const std::vector<ExprId>& indices);
  llvm::Value* ElementPointer(int buffer, llvm::Value* offset);
  llvm::Value* EmitLoad(const Expr& e);
  // Lanes a few elements apart: all elements between are loaded, some vectors of them, and left out by shuffles.
  // `mask`: null for all lanes.
  llvm::Value* EmitSteppedLoad(int buffer, const Address& address, llvm::Value* mask);
  // Of a load whose lanes lie side by side, or are one element where a dim size is 1; null for all else.
  llvm::Value* EmitPerhapsBroadcast(const Expr& e);
  // Of a load whose lanes lie side by side but where a row begins anew; null for all else.
  llvm::Value* EmitWrappedLoad(const Expr& e);
  // Of a load whose lanes lie side by side but that each element is there a few times; null for all else.
  llvm::Value* EmitRepeatedLoad(const Expr& e);
  // A load whose lanes `emit_run` loads, in memory form, where `is_run`, and which else lie at `emit_offsets`, lanes of
  // offsets.
  llvm::Value* EmitRunOrGather(const Expr& e, llvm::Value* is_run, llvm::function_ref<llvm::Value*()> emit_run,
                               llvm::function_ref<llvm::Value*()> emit_offsets);
  // `elements` from `offset` on, side by side, in memory form; zeros where `mask`, which may be null, is false.
  llvm::Value* EmitRun(int buffer, llvm::Value* offset, int elements, llvm::Value* mask);
  llvm::Value* LanesFrom(llvm::Value* first);  // first, first + 1, ...
  // The offset of an element whose last index is `last`; the others are the same in all lanes.
  llvm::Value* EmitRowOffset(const Expr& load, llvm::Value* last);
  // Of the elements from `first` on, as many as there are lanes, those that lanes of `mask` have, `step` elements
  // apart.
  llvm::Value* EmitSteppedMask(llvm::Value* mask, int64_t step, int64_t first);
  // Whether the load is of a row-major buffer, without a predicate, and lanes differ in the last index alone.
  bool LanesAreInRow(const Expr& load) const;
  // The address of an element of each row that a row buffer holds.
  llvm::Value* HeldPointer(int buffer, const std::vector<ExprId>& indices);
  bool IsHeld(int buffer) const { return rows_held_ > 1 && plan_.buffers[buffer].kind == BufferKind::kRow; }
  llvm::Value* EmitGuardedScalarLoad(int buffer, llvm::Value* offset, llvm::Value* guard);
  llvm::Value* EmitGatherIndex(const Expr& e);
  void EmitFault(const Expr& e, llvm::Value* raw, llvm::Value* bad);
  llvm::Value* EmitIndexOp(const Expr& e);
  // Of a comparison that holds for the first lanes or for the last; null for all else.
  llvm::Value* EmitLanesBelow(const Expr& e);
  llvm::Value* EmitUncached(const Expr& e);
  // Of an op whose operands make up one of codegen/plan/idioms/idioms.h; null for all else. A power below the
  // greatest is math::ExpOfDifference of its exponent. A share of powers is a product by the inverse of the sum, which
  // loops over a row compute once: 1.5 ulp off at most, and what is divided is not exact.
  llvm::Value* EmitIdiom(const Expr& e);
  // The value in lane 0 of an expression whose LaneCoefficient is known.
  llvm::Value* EmitFirst(ExprId id);
  // By how much an index expression grows from lane to lane, where that is one known number.
  std::optional<int64_t> LaneCoefficient(ExprId id) const;
  bool VariesByLane(ExprId id) const { return lanes_ > 1 && DependsOnLane(id); }
  bool DependsOnLane(ExprId id) const;
  llvm::Value* ToLanes(llvm::Value* value);
  llvm::Value* AllLanes();
  llvm::Align VectorAlign(int buffer, const std::vector<ExprId>& indices) const;
  llvm::Instruction* Tag(llvm::Instruction* access, int buffer);

  llvm::IRBuilderBase& b_;
  const EmitTarget& target_;
  const KernelPlan& plan_;
  const KernelFrame& frame_;
  absl::flat_hash_map<int, llvm::Value*> axes_;
  absl::flat_hash_map<int, llvm::Value*> locals_;
  absl::flat_hash_map<ExprId, llvm::Value*> memo_;
  absl::flat_hash_map<ExprId, llvm::Value*> first_memo_;
  mutable absl::flat_hash_map<ExprId, bool> lane_dependence_;
  int lane_axis_ = -1;
  int lanes_ = 1;
  llvm::Value* mask_ = nullptr;
  bool no_broadcast_ = false;
  bool streams_ = false;
  int rows_held_ = 1;
  AreWhole are_whole_;
};

}  // namespace tailor

#endif  // TAILOR_CODEGEN_SCALAR_SCALAR_EMITTER_H_
