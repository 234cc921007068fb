#include "codegen/cuda/gemm/matmul_frame.h"

#include "codegen/cuda/device_ir/device_intrinsics.h"
#include "codegen/cuda/frame/whole_vectors.h"
#include "codegen/cuda/schedule/access.h"
#include "codegen/ir/emit_loop.h"

namespace tailor::cuda {
namespace {

using llvm::Value;

Value* EmitTiles(llvm::IRBuilderBase& b, Value* dim_size, int size, const char* name) {
  return b.CreateUDiv(b.CreateAdd(dim_size, b.getInt64(size - 1)), b.getInt64(size), name);
}

}  // namespace

MatmulFrame::MatmulFrame(llvm::IRBuilderBase& b, llvm::Module& module, KernelPlan& plan, const Contraction& contraction,
                         const MatmulTypes& types, const CudaVersion& version, const std::string& name)
    : b_(b),
      plan_(plan),
      c_(contraction),
      types_(types),
      version_(version),
      lhs_(plan.Add(contraction.lhs)),
      rhs_(plan.Add(contraction.rhs)),
      frame_(OpenCudaKernel(b, module, plan, version, name)),
      scalars_(b, target_, plan, frame_),
      sum_type_(RegisterType(b.getContext(), contraction.accumulate, 1)),
      shared_(device::EmitSharedMemory(b)),
      thread_(device::EmitThreadId(b)),
      rows_(DimSize(c_.m)),
      columns_(DimSize(c_.n)),
      depth_(DimSize(c_.k)),
      team_{thread_, version.threads, shared_, [&b] { device::EmitBarrier(b); }} {}

llvm::AllocaInst* MatmulFrame::Variable(llvm::Type* type, const llvm::Twine& name) {
  llvm::BasicBlock& entry = b_.GetInsertBlock()->getParent()->getEntryBlock();
  return llvm::IRBuilder<>(&entry, entry.begin()).CreateAlloca(type, nullptr, name);
}

Value* MatmulFrame::EmitTileCount() {
  Value* count = b_.CreateMul(EmitTiles(b_, rows_, tile().rows, "row.tiles"),
                              EmitTiles(b_, columns_, tile().columns, "column.tiles"), "tiles");
  for (int axis : c_.batch) count = b_.CreateMul(count, DimSize(axis), "tiles");
  return count;
}

// Tiles of one batch index are consecutive, ordered by bands of kBand rows of tiles: concurrent blocks of a band share
// both operands in L2. There are fewer than 2^31 tiles, so 32-bit arithmetic suffices.
void MatmulFrame::EmitTile(Value* number) {
  constexpr int kBand = 8;
  const auto narrow = [&](Value* value) { return b_.CreateTrunc(value, b_.getInt32Ty()); };
  const auto wide = [&](Value* value) { return b_.CreateZExt(value, b_.getInt64Ty()); };
  Value* row_tiles = narrow(EmitTiles(b_, rows_, tile().rows, "row.tiles"));
  Value* column_tiles = narrow(EmitTiles(b_, columns_, tile().columns, "column.tiles"));
  Value* tiles = b_.CreateMul(row_tiles, column_tiles, "tiles");
  Value* batch = b_.CreateUDiv(narrow(number), tiles, "batch");
  Value* index = b_.CreateURem(narrow(number), tiles, "tile");
  Value* band_tiles = b_.CreateMul(column_tiles, b_.getInt32(kBand), "band.tiles");
  Value* first = b_.CreateMul(b_.CreateUDiv(index, band_tiles), b_.getInt32(kBand), "band.first");
  Value* within = b_.CreateURem(index, band_tiles, "band.tile");
  Value* band = b_.CreateBinaryIntrinsic(llvm::Intrinsic::umin, b_.CreateSub(row_tiles, first), b_.getInt32(kBand),
                                         nullptr, "band.rows");
  Value* row_tile = b_.CreateAdd(first, b_.CreateURem(within, band), "row.tile");
  first_row_ = b_.CreateMul(wide(row_tile), b_.getInt64(tile().rows), "first.row");
  first_column_ = b_.CreateMul(wide(b_.CreateUDiv(within, band)), b_.getInt64(tile().columns), "first.column");
  for (size_t i = c_.batch.size(); i-- > 0;) {
    Value* dim_size = narrow(DimSize(c_.batch[i]));
    scalars_.SetAxis(c_.batch[i], wide(i == 0 ? batch : b_.CreateURem(batch, dim_size, "batch.index")));
    if (i > 0) batch = b_.CreateUDiv(batch, dim_size, "batch.rest");
  }
  scalars_.Forget();
  SetRange(b_.getInt64(0), depth_);
}

Value* MatmulFrame::ToSum(DType dtype, Value* value) {
  return EmitScalarOp(b_, target_, OpKind::kCast, dtype, c_.accumulate, {value});
}

// Sets the axes for the element of the lhs; with a fill, the fill's own axes too.
void MatmulFrame::SetLhs(Value* m, Value* k) {
  scalars_.SetAxis(c_.m, m);
  scalars_.SetAxis(c_.k, k);
  if (c_.fill < 0) return;
  const Statement& fill = plan_.stages[c_.fill].statements[0];
  std::vector<Value*> indices;
  for (ExprId index : c_.lhs.args) indices.push_back(scalars_.Emit(index));
  for (size_t d = 0; d < indices.size(); ++d) {
    const Expr& index = plan_.exprs[fill.indices[d]];
    if (index.kind == ExprKind::kAxis) scalars_.SetAxis(index.ref, indices[d]);
  }
}

Value* MatmulFrame::EmitLhs(Value* m, Value* k) {
  SetLhs(m, k);
  const ExprId element = c_.fill < 0 ? lhs_ : plan_.stages[c_.fill].statements[0].value;
  return ToSum(plan_.buffers[c_.lhs.ref].dtype, scalars_.Emit(element));
}

Value* MatmulFrame::EmitLhsBits(Value* m, Value* k) {
  SetLhs(m, k);
  const DType dtype = plan_.buffers[c_.lhs.ref].dtype;
  if (c_.fill >= 0) return ToMemory(b_, dtype, scalars_.Emit(plan_.stages[c_.fill].statements[0].value));
  Value* address = scalars_.AddressOf(c_.lhs.ref, c_.lhs.args);
  return b_.CreateAlignedLoad(MemoryType(b_.getContext(), dtype, 1), address, llvm::Align(SizeOf(dtype)), "lhs.bits");
}

Value* MatmulFrame::EmitRhs(Value* k, Value* n) {
  scalars_.SetAxis(c_.k, k);
  scalars_.SetAxis(c_.n, n);
  return ToSum(plan_.buffers[c_.rhs.ref].dtype, scalars_.Emit(rhs_));
}

void MatmulFrame::EmitWithLanes(llvm::function_ref<void(int lanes)> body) {
  if (version_.lanes == 1) return body(1);
  const KernelPlan epilogue = PlanOfEpilogue(plan_, c_);
  Value* whole = EmitAreVectorsWhole(b_, epilogue, version_, frame_);
  EmitIf(b_, whole, "vectors", [&] {
    scalars_.SetWholeVectors([&](int buffer, const std::vector<ExprId>& indices) {
      return LiesInRuns(plan_, {buffer, indices}, version_.lane_axis, version_.version.no_broadcast);
    });
    body(version_.lanes);
    scalars_.SetWholeVectors(nullptr);
  });
  EmitIf(b_, b_.CreateNot(whole), "elements", [&] { body(1); });
}

Value* MatmulFrame::EmitMultiplyAdd(Value* x, Value* y, Value* sum) {
  if (!IsFloat(c_.accumulate)) return b_.CreateAdd(sum, b_.CreateMul(x, y, "product"), "sum.next");
  return b_.CreateIntrinsic(llvm::Intrinsic::fma, {sum_type_}, {x, y, sum}, nullptr, "sum.next");
}

Value* MatmulFrame::Existing(Value* first, Value* offset, Value* dim_size) {
  Value* index = b_.CreateAdd(first, b_.CreateZExt(offset, b_.getInt64Ty()));
  return b_.CreateBinaryIntrinsic(llvm::Intrinsic::smin, index, b_.CreateSub(dim_size, b_.getInt64(1)), nullptr,
                                  "existing");
}

bool MatmulFrame::IsMultiple(int axis, int64_t count) const {
  const DimSizeRange range = RangeOfDimSize(plan_, plan_.axes[axis].dim_size);
  return (range.fixed ? range.max : range.divisor) % count == 0;
}

}  // namespace tailor::cuda
