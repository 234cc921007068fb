#include "codegen/cpu/gemm/fill_staging.h"

#include <numeric>
#include <utility>

#include "absl/types/span.h"
#include "codegen/cpu/gemm/fetch_line.h"
#include "codegen/ir/emit_loop.h"

namespace tailor::gemm {
namespace {

using llvm::Value;

class StagingFiller {
 public:
  StagingFiller(llvm::IRBuilderBase& b, const KernelPlan& plan, const Contraction& contraction,
                const KernelFrame& frame, ScalarEmitter& scalars, int lanes, const std::vector<IndexRange>& ranges,
                const StagingBuffer& staging)
      : b_(b),
        plan_(plan),
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
    EmitLoops(order, nullptr);
  }

 private:
  // The loops over `dims`. `first`: index of the first lane, within the loop over lanes.
  void EmitLoops(absl::Span<const size_t> dims, Value* first) {
    if (dims.empty()) return EmitStore(first);
    const size_t dim = dims[0];
    const absl::Span<const size_t> rest = dims.subspan(1);
    const Expr& index = plan_.exprs[fill_.indices[dim]];
    if (index.kind != ExprKind::kAxis) return EmitLoops(rest, first);
    Value* end = b_.CreateAdd(ranges_[dim].high, b_.getInt64(1), "fill.end");
    const int lanes = dim + 1 < fill_.indices.size() ? 1 : lanes_;
    if (lanes == 1) {
      EmitLoop(b_, ranges_[dim].low, end, 1, "fill", [&](Value* at) {
        scalars_.SetAxis(index.ref, at);
        EmitLoops(rest, first);
      });
      return;
    }
    // From the last vector to the first: what lies past the end of a row is in the first vector of the next one.
    Value* vectors = EmitCeilDiv(b_, b_.CreateSub(end, ranges_[dim].low), b_.getInt64(lanes), "fill.vectors");
    EmitLoop(b_, b_.getInt64(0), vectors, 1, "fill.lanes", [&](Value* done) {
      Value* before = b_.CreateSub(b_.CreateSub(vectors, done), b_.getInt64(1));
      Value* at = b_.CreateAdd(ranges_[dim].low, b_.CreateMul(before, b_.getInt64(lanes)), "fill.at");
      scalars_.SetLanes(index.ref, at, lanes, EmitFirstLanes(b_, lanes, b_.CreateSub(end, at, "fill.left")));
      EmitLoops(rest, at);
      scalars_.SetLanes(index.ref, b_.getInt64(0), 1, nullptr);
    });
  }

  // Where the fill copies an image, with or without padding: prefetches the vector that lies below the current one by
  // as many rows as this task stages. The next task stages it.
  void EmitFetchAhead() {
    const Expr& value = plan_.exprs[fill_.value];
    const bool padded = value.kind == ExprKind::kOp && value.op == OpKind::kSelect;
    const Expr& load = padded ? plan_.exprs[value.args[1]] : value;
    if (load.kind != ExprKind::kLoad || load.args.size() < 2) return;
    if (padded && plan_.exprs[value.args[2]].kind != ExprKind::kLiteral) return;
    Value* address = scalars_.AddressIfContiguous(load.ref, load.args);
    if (address == nullptr) return;
    const IndexRange& rows = ranges_[fill_.indices.size() - 2];
    Value* count = b_.CreateAdd(b_.CreateSub(rows.high, rows.low), b_.getInt64(1), "rows");
    Value* row_size = frame_.DimSizeValue(b_, plan_.buffers[load.ref].dims.back());
    llvm::Type* element = MemoryType(b_.getContext(), plan_.buffers[load.ref].dtype, 1);
    EmitPrefetchLine(b_, b_.CreateGEP(element, address, b_.CreateMul(count, row_size), "ahead"));
  }

  void EmitStore(Value* first) {
    if (first != nullptr && fill_.indices.size() >= 2) EmitFetchAhead();
    Value* value = scalars_.EmitLanes(fill_.value);
    Value* offset = b_.getInt64(0);
    for (size_t d = 0; d < fill_.indices.size(); ++d) {
      const bool lanes = first != nullptr && d + 1 == fill_.indices.size();
      Value* at = b_.CreateSub(lanes ? first : scalars_.Emit(fill_.indices[d]), staging_.starts[d], "within");
      offset = b_.CreateAdd(offset, b_.CreateMul(at, staging_.strides[d]), "offset");
    }
    const DType dtype = plan_.buffers[fill_.buffer].dtype;
    Value* address = b_.CreateInBoundsGEP(MemoryType(b_.getContext(), dtype, 1), staging_.base, offset, "filled");
    const llvm::Align align(SizeOf(dtype));
    // Whole vectors: what lies past the end of a row is written later, as part of the next one.
    llvm::Instruction* store = b_.CreateAlignedStore(ToMemory(b_, dtype, value), address, align);
    store->setMetadata(llvm::LLVMContext::MD_alias_scope, frame_.alias_scope[fill_.buffer]);
    store->setMetadata(llvm::LLVMContext::MD_noalias, frame_.noalias[fill_.buffer]);
  }

  llvm::IRBuilderBase& b_;
  const KernelPlan& plan_;
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
