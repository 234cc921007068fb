#include "codegen/cpu/gemm/fill_staging.h"

#include <numeric>
#include <utility>

#include "absl/types/span.h"
#include "codegen/cpu/tiling/even_tiling.h"
#include "codegen/ir/emit_loop.h"
#include "codegen/ir/memory_hints.h"

namespace tailor::gemm {
namespace {

using llvm::Value;

// Vectors of a line that are filled side by side: they share the test of the line for padding. That is more code, and
// pays where few columns share each element.
constexpr int kSideBySide = 2;
constexpr int64_t kFewColumns = 32;

class StagingFiller {
 public:
  StagingFiller(llvm::IRBuilderBase& b, const KernelPlan& plan, const Contraction& contraction,
                const KernelFrame& frame, ScalarEmitter& scalars, int lanes, const std::vector<IndexRange>& ranges,
                const StagingBuffer& staging)
      : b_(b),
        plan_(plan),
        contraction_(contraction),
        fill_(plan.stages[contraction.fill].statements[0]),
        frame_(frame),
        scalars_(scalars),
        lanes_(lanes),
        ranges_(ranges),
        staging_(staging) {}

  void Emit() {
    // Lanes run outside of the rows: which of them lie in the padding does not change from row to row.
    std::vector<size_t> order(fill_.indices.size());
    std::iota(order.begin(), order.end(), size_t{0});
    if (order.size() >= 2) std::swap(order[order.size() - 2], order[order.size() - 1]);
    EmitLoops(order, {});
  }

 private:
  // A vector of a line: the index of its first lane, and the mask of the lanes that have elements.
  struct Column {
    Value *first, *mask;
  };

  // The loops over `dims`. `columns`: the vectors side by side, from the last one down, within the loop over lanes.
  void EmitLoops(absl::Span<const size_t> dims, absl::Span<const Column> columns) {
    if (dims.empty()) return EmitStores(columns);
    const size_t dim = dims[0];
    const absl::Span<const size_t> rest = dims.subspan(1);
    const Expr& index = plan_.exprs[fill_.indices[dim]];
    if (index.kind != ExprKind::kAxis) return EmitLoops(rest, columns);
    Value* end = b_.CreateAdd(ranges_[dim].high, b_.getInt64(1), "fill.end");
    if (dim + 1 < fill_.indices.size() || lanes_ == 1) {
      EmitLoop(b_, ranges_[dim].low, end, 1, "fill", [&](Value* at) {
        scalars_.SetAxis(index.ref, at);
        EmitLoops(rest, columns);
      });
      return;
    }
    // From the last vector to the first: what lies past the end of a row is in the first vector of the next one.
    Value* vectors = EmitCeilDiv(b_, b_.CreateSub(end, ranges_[dim].low), b_.getInt64(lanes_), "fill.vectors");
    Value* done = b_.getInt64(0);
    for (int count = FillsSideBySide() ? kSideBySide : 1; count > 0; --count) {
      Value* last = b_.CreateSub(vectors, b_.getInt64(count - 1));
      done = EmitLoop(b_, done, last, count, "fill.lanes", [&](Value* before) {
        std::vector<Column> side_by_side;
        for (int i = 0; i < count; ++i) {
          Value* number = b_.CreateSub(b_.CreateSub(vectors, before), b_.getInt64(i + 1));
          Value* at = b_.CreateAdd(ranges_[dim].low, b_.CreateMul(number, b_.getInt64(lanes_)), "fill.at");
          side_by_side.push_back({at, EmitFirstLanes(b_, lanes_, b_.CreateSub(end, at, "fill.left"))});
        }
        EmitLoops(rest, side_by_side);
        scalars_.SetLanes(index.ref, b_.getInt64(0), 1, nullptr);
      });
    }
  }

  bool FillsSideBySide() const {
    const DimSizeRange n = RangeOfDimSize(plan_, plan_.axes[contraction_.n].dim_size);
    return CopiedLoad() != nullptr && n.max <= kFewColumns;
  }

  // The load that the fill copies, with or without padding; null if it does more.
  const Expr* CopiedLoad() const {
    const Expr& value = plan_.exprs[fill_.value];
    const bool padded = value.kind == ExprKind::kOp && value.op == OpKind::kSelect &&
                        plan_.exprs[value.args[2]].kind == ExprKind::kLiteral;
    const Expr& load = padded ? plan_.exprs[value.args[1]] : value;
    return load.kind == ExprKind::kLoad ? &load : nullptr;
  }

  // Where the fill copies an image: prefetches the vector as far ahead along the second last dim as it is filled now:
  // channels first, in rows that the next task stages. Not into L1, which holds what this task multiplies.
  void EmitFetchAhead() {
    const Expr* load = CopiedLoad();
    if (load == nullptr || load->args.size() < 2 || fill_.indices.size() < 2) return;
    Value* address = scalars_.AddressIfContiguous(load->ref, load->args);
    if (address == nullptr) return;
    const IndexRange& rows = ranges_[fill_.indices.size() - 2];
    Value* count = b_.CreateAdd(b_.CreateSub(rows.high, rows.low), b_.getInt64(1), "rows");
    Value* row_size = frame_.DimSizeValue(b_, plan_.buffers[load->ref].dims.back());
    llvm::Type* element = MemoryType(b_.getContext(), plan_.buffers[load->ref].dtype, 1);
    EmitPrefetchLine(b_, b_.CreateGEP(element, address, b_.CreateMul(count, row_size), "ahead"),
                     PrefetchInto::kBeyondL1);
  }

  void EmitStores(absl::Span<const Column> columns) {
    if (columns.empty()) return EmitStore(nullptr);
    for (const Column& column : columns) {
      scalars_.SetLanes(plan_.exprs[fill_.indices.back()].ref, column.first, lanes_, column.mask);
      EmitFetchAhead();
      EmitStore(column.first);
    }
  }

  // `first`: index of the first lane; null: there is one lane.
  void EmitStore(Value* first) {
    Value* value = scalars_.EmitLanes(fill_.value);
    const bool splits = staging_.odd_columns != nullptr;  // then there are lanes along columns
    Value* offset = b_.getInt64(0);
    for (size_t d = 0; d < fill_.indices.size(); ++d) {
      const bool lanes = first != nullptr && d + 1 == fill_.indices.size();
      Value* at = b_.CreateSub(lanes ? first : scalars_.Emit(fill_.indices[d]), staging_.starts[d], "within");
      if (lanes && splits) at = b_.CreateLShr(at, 1, "within.half");  // whole vectors from the first column on
      offset = b_.CreateAdd(offset, b_.CreateMul(at, staging_.strides[d]), "offset");
    }
    value = ToMemory(b_, plan_.buffers[fill_.buffer].dtype, value);
    if (!splits) return EmitStoreAt(offset, value);
    EmitStoreAt(offset, EverySecond(value, 0));
    EmitStoreAt(b_.CreateAdd(offset, staging_.odd_columns, "odd"), EverySecond(value, 1));
  }

  // Whole vectors: what lies past the end of a row, or of its even columns, is written later, as part of the next ones.
  void EmitStoreAt(Value* offset, Value* value) {
    const DType dtype = plan_.buffers[fill_.buffer].dtype;
    Value* address = b_.CreateInBoundsGEP(MemoryType(b_.getContext(), dtype, 1), staging_.base, offset, "filled");
    llvm::Instruction* store = b_.CreateAlignedStore(value, address, llvm::Align(SizeOf(dtype)));
    store->setMetadata(llvm::LLVMContext::MD_alias_scope, frame_.alias_scope[fill_.buffer]);
    store->setMetadata(llvm::LLVMContext::MD_noalias, frame_.noalias[fill_.buffer]);
  }

  Value* EverySecond(Value* vector, int first) {
    llvm::SmallVector<int, 16> lanes;
    for (int lane = first; lane < lanes_; lane += 2) lanes.push_back(lane);
    return b_.CreateShuffleVector(vector, lanes, first == 0 ? "even.columns" : "odd.columns");
  }

  llvm::IRBuilderBase& b_;
  const KernelPlan& plan_;
  const Contraction& contraction_;
  const Statement& fill_;
  const KernelFrame& frame_;
  ScalarEmitter& scalars_;
  const int lanes_;
  const std::vector<IndexRange>& ranges_;
  const StagingBuffer& staging_;
};

}  // namespace

void EmitFillStaging(llvm::IRBuilderBase& b, const KernelPlan& plan, const Contraction& contraction,
                     const KernelFrame& frame, ScalarEmitter& scalars, int lanes, const std::vector<IndexRange>& ranges,
                     const StagingBuffer& staging) {
  StagingFiller(b, plan, contraction, frame, scalars, lanes, ranges, staging).Emit();
}

}  // namespace tailor::gemm
