// ScalarEmitter: emits KernelPlan expressions as LLVM values, for loops, reductions and matmul epilogues of every
// target. Given the axis values it returns an expression's value, memoized. An expression that depends on the lane axis
// is a vector; others are scalar.
#ifndef TAILOR_CODEGEN_SCALAR_SCALAR_EMITTER_H_
#define TAILOR_CODEGEN_SCALAR_SCALAR_EMITTER_H_

#include <array>
#include <functional>
#include <optional>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "codegen/plan/access_map.h"
#include "codegen/plan/idioms/idioms.h"
#include "codegen/plan/kernel_plan.h"
#include "codegen/plan/kernel_signature.h"
#include "codegen/scalar/scalar_ops.h"
#include "llvm/IR/IRBuilder.h"

namespace tailor {

// The values available in a kernel function after its prologue: its parameters (KernelParameter), and values derived
// from them.
struct KernelFrame {
  std::vector<llvm::Value*> buffers;      // by plan buffer: its address; null for kLocal
  std::vector<llvm::Value*> dims;         // i64 per dim slot
  std::vector<llvm::Value*> tensor_maps;  // by number
  llvm::Value* scratch = nullptr;         // this thread's scratch, if the plan has any
  // Any other parameter; null if the kernel does not have it.
  llvm::Value* Get(KernelParameter::Kind kind) const { return others[kind]; }
  std::array<llvm::Value*, KernelParameter::kKinds> others = {};
  // Per buffer: alias metadata that allows reordering of accesses to distinct buffers.
  std::vector<llvm::MDNode*> alias_scope, noalias;
  llvm::Value* DimSizeValue(llvm::IRBuilderBase& b, const DimSize& dim_size) const;
};

// The frame whose parameters are the results of `value`.
KernelFrame FrameOf(const KernelPlan& plan, const KernelSignature& signature,
                    llvm::function_ref<llvm::Value*(const KernelParameter&)> value);
// Declares the KernelFn `void @name(ptr args, i64 begin, i64 end, i64 worker)` in `module`, opens its entry block and
// loads its argument block. Leaves `b` at the end of the entry block. `more`: the type of a further parameter, or null.
KernelFrame OpenKernelFunction(llvm::IRBuilderBase& b, llvm::Module& module, const KernelPlan& plan,
                               const KernelSignature& signature, llvm::StringRef name, llvm::Type* more = nullptr);
// Divides the memory at `scratch` (any address space) among the row buffers of `rows` rows, each 64-byte aligned.
// Returns its end.
llvm::Value* PlaceRowBuffers(llvm::IRBuilderBase& b, const KernelPlan& plan, llvm::Value* scratch, KernelFrame& frame,
                             int rows = 1);
// Fills frame.alias_scope and frame.noalias. Requires distinct buffers to be disjoint memory (by the host program's
// layout).
void AddAliasScopes(llvm::LLVMContext& context, const KernelPlan& plan, KernelFrame& frame);

class ScalarEmitter {
 public:
  ScalarEmitter(llvm::IRBuilderBase& b, const EmitTarget& target, const KernelPlan& plan, const KernelFrame& frame)
      : b_(b), target_(target), plan_(plan), frame_(frame) {}

  // Sets the value of an axis. Clears the memo, since memoized values must dominate their uses.
  void SetAxis(int axis, llvm::Value* index);
  // Sets the value of an index expression, whatever the axes' values are; null: as they say.
  void SetIndex(ExprId id, llvm::Value* value);
  // Lanes run along `axis`: lane i has index first + i. `mask` (<lanes x i1>; null: all) guards memory accesses. With
  // `lanes` = 1 the axis is scalar. `at_multiples`: `first` is a multiple of `lanes`, so that comparisons of the axis
  // with multiples are the same in all lanes.
  void SetLanes(int axis, llvm::Value* first, int lanes, llvm::Value* mask, bool at_multiples = false);
  // Sets the register value that loads of a kLocal buffer return; for a kRow buffer the value at the current axis
  // values, or null if it is in memory.
  void SetLocal(int buffer, llvm::Value* value);
  llvm::Value* local(int buffer) const { return locals_.at(buffer); }
  // Assumes that no dim under kBcastIndex is 1, as a version's guards ensure.
  void AssumeNoBroadcast() { no_broadcast_ = true; }
  // Assumes that those conjuncts of predicates hold that are the same in all lanes, where lanes are contiguous.
  void AssumeUniformPredicates(bool hold) { uniform_predicates_hold_ = hold; }

  // For each concat of inputs whose part is the same for all `lanes` lanes along `axis`: emits the choice of the part's
  // address. Later loads along `axis` start there, until another axis is set. Leaves `axis` at 0, with one lane.
  void ChooseSources(int axis, int lanes);
  // The same choices as those of `other`, whose axes have the same values.
  void ChooseSourcesAs(const ScalarEmitter& other) { sources_ = other.sources_; }
  void ForgetSources() { sources_.clear(); }

  // The stride in elements of an affine access of `buffer`, i64. `map` is of this emitter's plan.
  llvm::Value* EmitStride(const AccessMap& map, int buffer, const char* name);
  // Row buffers hold `rows` rows, interleaved: the first elements of all rows, then the second ones, and so on.
  // Requires CanInterleaveRows(plan), and lanes() == rows at every access to row buffers.
  void SetInterleavedRows(int rows) { rows_held_ = rows; }
  // Uses streaming stores for whole vectors to output buffers. Requires: the lanes of each such store are contiguous
  // and aligned to the vector's bytes.
  void SetStreaming(bool streams) { streams_ = streams; }
  // Contiguous accesses for which `are_whole` is true are aligned to the vector's bytes, or to 16 if the vector is
  // larger. Null: unknown alignment.
  using AreWhole = std::function<bool(int buffer, const std::vector<ExprId>& indices)>;
  void SetWholeVectors(AreWhole are_whole) { are_whole_ = std::move(are_whole); }
  void Forget();

  llvm::Value* Emit(ExprId id);       // scalar unless it depends on the lane axis
  llvm::Value* EmitLanes(ExprId id);  // broadcast to all lanes
  // Stores `value` (register form, scalar or lanes) to `buffer` at `indices`.
  void Store(int buffer, const std::vector<ExprId>& indices, llvm::Value* value);
  // The address of lane 0 in `buffer`, whose lanes are contiguous.
  llvm::Value* AddressOf(int buffer, const std::vector<ExprId>& indices);
  // The same; null if lanes are not contiguous.
  llvm::Value* AddressIfContiguous(int buffer, const std::vector<ExprId>& indices);
  int lanes() const { return lanes_; }
  llvm::Value* mask() const { return mask_; }

 private:
  // The address pattern of an access's lanes. `offset` in elements: of lane 0 for kUniform, kContiguous, kStepped; of
  // the last lane, which is first in memory, for kReversed; a vector for kScattered.
  enum class Pattern { kUniform, kContiguous, kStepped, kReversed, kScattered };
  struct Address {
    llvm::Value* offset;
    Pattern pattern;
    int64_t step = 0;  // from lane to lane; 0 for kReversed, kScattered
  };
  Address EmitAddress(const Buffer& buffer, const std::vector<ExprId>& indices);
  Address EmitRowMajor(const Buffer& buffer, const std::vector<ExprId>& indices);
  Address EmitPanels(const Buffer& buffer, const std::vector<ExprId>& indices);
  llvm::Value* ElementPointer(int buffer, llvm::Value* offset);
  llvm::Value* EmitLoad(const Expr& e);
  llvm::Value* EmitUniformPart(ExprId predicate);
  llvm::Value* EmitLanePart(ExprId predicate);
  // The mask of a load's lanes: mask() and its predicate; null for all lanes.
  llvm::Value* EmitAccessMask(const Expr& load);
  llvm::Value* EmitWordMask(llvm::Value* mask, llvm::Value* all, int bits);
  // Masked loads in an expression, at most kMostMaskedLoads; those under several nodes count once for each.
  int MaskedLoads(ExprId id) const;
  static constexpr int kMostMaskedLoads = 8;
  // Whether `e` selects between sources by their place, as concat does, and branches are faster than reading both under
  // masks.
  bool ChoosesSource(const Expr& e) const;
  // Such a select: reads a source only if a lane wants it.
  llvm::Value* EmitChosenSource(const Expr& e);
  // An input chosen by ChooseSources: the address of its element at 0 of the lane axis.
  struct Source {
    DType dtype;
    llvm::MDNode* scopes = nullptr;  // alias scopes of all inputs that it may be
    llvm::Value* first = nullptr;
  };
  // The conditions chosen on the way to a source, and what was found on all ways.
  struct Choices {
    std::vector<std::pair<ExprId, bool>> made;
    std::vector<ExprId> arms;
    std::vector<int> buffers;
    bool Imply(const KernelPlan& plan, ExprId predicate) const;
  };
  bool VariesInRow(ExprId id) const;
  bool IsPlace(ExprId id) const;  // computed from axes and dim sizes
  bool IsSource(ExprId id, DType dtype, Choices& choices) const;
  llvm::Value* EmitSourceAddress(ExprId id);
  llvm::Value* EmitFromSource(const Source& source);
  // Whether `e` is select(p, x if p, y): a load whose result is replaced where its predicate is false.
  bool IsPadded(const Expr& e) const;
  llvm::Value* OffsetIfRead(const Expr& load, llvm::Value* offset, int64_t step);
  // Lanes with a constant step of a few elements: loads whole vectors and selects the lanes by shuffles. `mask`: null
  // for all lanes.
  llvm::Value* EmitSteppedLoad(int buffer, const Address& address, llvm::Value* mask);
  // A load whose lanes are contiguous, or one element if a dim size is 1; null for other loads.
  llvm::Value* EmitMaybeBroadcast(const Expr& e);
  // A load whose lanes are contiguous except for a wrap to a new row; null for other loads.
  llvm::Value* EmitWrappedLoad(const Expr& e);
  // A load whose contiguous elements are each repeated a constant number of times; null for other loads.
  llvm::Value* EmitRepeatedLoad(const Expr& e);
  // The same for a load with a predicate, of 32-bit elements in whole registers of AVX2 or AVX-512.
  llvm::Value* EmitPredicatedRepeatedLoad(const Expr& e);
  // Which elements the active lanes of `lanes` (0 or -1) read, where lane l reads element (phase + l) / times.
  llvm::Value* EmitElementsRead(llvm::Value* lanes, llvm::Value* phase, int times);
  llvm::Constant* LaneNumbers();  // 0, 1, ... as i32
  // Lane l of 32-bit lanes is lane index[l] of `lanes`; its low bits count.
  llvm::Value* EmitPermutation(llvm::Value* lanes, llvm::Value* index);
  // A load whose lanes take turns among a constant number of rows (depth to space); null for other loads.
  llvm::Value* EmitInterleavedLoad(const Expr& e);
  int LaneDivisor(const Expr& e) const;
  // A load: if `is_run` (i1) holds, the result of `emit_run` in memory form; else a gather from the lane offsets of
  // `emit_offsets`.
  llvm::Value* EmitRunOrGather(const Expr& e, llvm::Value* is_run, llvm::function_ref<llvm::Value*()> emit_run,
                               llvm::function_ref<llvm::Value*()> emit_offsets);
  // `elements` contiguous elements from `offset`, in memory form; zero where `mask` (may be null) is false.
  llvm::Value* EmitRun(int buffer, llvm::Value* offset, int elements, llvm::Value* mask);
  llvm::Value* LanesFrom(llvm::Value* first);  // first, first + 1, ...
  // The offset of the element whose last index is `last`; the other indices are equal in all lanes.
  llvm::Value* EmitRowOffset(const Expr& load, llvm::Value* last);
  // The mask of `lanes` consecutive elements from `first`: those that an active lane of `mask` reads, lanes being
  // `step` elements apart.
  llvm::Value* EmitSteppedMask(llvm::Value* mask, int64_t step, int64_t first);
  // Whether the load is from a row-major buffer, without predicate, and lanes differ only in the last index.
  bool LanesAreInRow(const Expr& load) const;
  // The address of the vector of one element of each row in a row buffer (SetInterleavedRows).
  llvm::Value* InterleavedPointer(int buffer, const std::vector<ExprId>& indices);
  bool IsHeld(int buffer) const { return rows_held_ > 1 && plan_.buffers[buffer].kind == BufferKind::kRow; }
  llvm::Value* EmitGuardedScalarLoad(int buffer, llvm::Value* offset, llvm::Value* guard);
  llvm::Value* EmitGatherIndex(const Expr& e);
  void EmitFault(const Expr& e, llvm::Value* raw, llvm::Value* bad);
  llvm::Value* EmitIndexOp(const Expr& e);
  // A comparison that holds for a prefix or a suffix of lanes; null for others.
  llvm::Value* EmitPrefixMask(const Expr& e);
  llvm::Value* EmitUncached(ExprId id);
  // An op that is an idiom (codegen/plan/idioms/idioms.h); null for others. exp(x - max(x)) is math::ExpOfDifference. A
  // softmax normalization multiplies by the inverse of the sum, which is computed once per row: at most 1.5 ulp error,
  // and the dividend is not exact either.
  llvm::Value* EmitIdiom(const Expr& e);
  llvm::Value* EmitRequantized(const Requantized& r);
  // The value in lane 0. Requires a known LaneCoefficient.
  llvm::Value* EmitFirst(ExprId id);
  // The constant step of an index expression from lane to lane, if known.
  std::optional<int64_t> LaneCoefficient(ExprId id) const;
  // The constant step in elements of an access of a row-major buffer from lane to lane, if known.
  std::optional<int64_t> LaneStep(const Buffer& buffer, const std::vector<ExprId>& indices) const;
  bool VariesByLane(ExprId id) const { return lanes_ > 1 && DependsOnLane(id); }
  bool DependsOnLane(ExprId id) const;
  bool ComparesWithMultiple(const Expr& e) const;
  llvm::Value* ToLanes(llvm::Value* value);
  llvm::Value* AllLanes();
  llvm::Align VectorAlign(int buffer, const std::vector<ExprId>& indices) const;
  llvm::Instruction* Tag(llvm::Instruction* access, int buffer);

  llvm::IRBuilderBase& b_;
  const EmitTarget& target_;
  const KernelPlan& plan_;
  const KernelFrame& frame_;
  absl::flat_hash_map<int, llvm::Value*> axes_;
  absl::flat_hash_map<ExprId, llvm::Value*> indices_;
  absl::flat_hash_map<int, llvm::Value*> locals_;
  absl::flat_hash_map<ExprId, Source> sources_;
  absl::flat_hash_map<ExprId, llvm::Value*> memo_;
  absl::flat_hash_map<ExprId, llvm::Value*> first_memo_;
  mutable absl::flat_hash_map<ExprId, bool> lane_dependence_;
  mutable absl::flat_hash_map<ExprId, int> masked_loads_;
  int lane_axis_ = -1;
  int lanes_ = 1;
  llvm::Value* mask_ = nullptr;
  bool at_multiples_ = false;
  bool no_broadcast_ = false;
  bool uniform_predicates_hold_ = false;
  bool streams_ = false;
  int rows_held_ = 1;
  AreWhole are_whole_;
};

}  // namespace tailor

#endif  // TAILOR_CODEGEN_SCALAR_SCALAR_EMITTER_H_
