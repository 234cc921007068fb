#include "codegen/cpu/gemm/fill_staging.h"

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

  void Emit() { EmitDim(0, nullptr); }

 private:
  // `first`: index of the first lane, within the loop over lanes.
  void EmitDim(size_t dim, Value* first) {
    if (dim == fill_.indices.size()) return EmitStore(first);
    const Expr& index = plan_.exprs[fill_.indices[dim]];
    if (index.kind != ExprKind::kAxis) return EmitDim(dim + 1, first);
    Value* end = b_.CreateAdd(ranges_[dim].high, b_.getInt64(1), "fill.end");
    const int lanes = dim + 1 < fill_.indices.size() ? 1 : lanes_;
    EmitLoop(b_, ranges_[dim].low, end, lanes, lanes > 1 ? "fill.lanes" : "fill", [&](Value* at) {
      if (lanes == 1) {
        scalars_.SetAxis(index.ref, at);
        return EmitDim(dim + 1, nullptr);
      }
      scalars_.SetLanes(index.ref, at, lanes, EmitFirstLanes(b_, lanes, b_.CreateSub(end, at, "fill.left")));
      EmitDim(dim + 1, at);
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
    // Whole vectors: what lies past the end of a row of the image is overwritten by the next row.
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
