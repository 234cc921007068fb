#include "codegen/host/emit/emit_gemms.h"

namespace tailor::host {
namespace {

using Place = HostBuffer::Place;

bool IsPlaced(const HostBuffer& buffer) {
  return buffer.place == Place::kConstant || buffer.place == Place::kWorkspace;
}

// Calls body(buffer, byte offset of its address in GemmArgs) for each operand.
template <typename Body>
void ForEachOperand(const HostProgram& program, const ExternalGemm& gemm, Body body) {
  body(program.buffers[gemm.lhs], offsetof(GemmArgs, lhs));
  body(program.buffers[gemm.rhs], offsetof(GemmArgs, rhs));
  body(program.buffers[gemm.out], offsetof(GemmArgs, out));
}

}  // namespace

void EmitGemmLayout(HostFunction& f, HostShapes& shapes, const HostUnit& unit, int index, llvm::Value* shape_cache,
                    llvm::function_ref<llvm::Value*(const HostBuffer&)> place_of) {
  const ExternalGemm& gemm = unit.program.gemms[index];
  const ShapeCache::GemmWords& words = unit.shape_cache.gemms[index];
  llvm::Value* args = f.Address(shape_cache, ShapeCacheByte(words.args));
  const auto set = [&](size_t offset, llvm::Value* value) { f.Store(value, args, static_cast<int64_t>(offset)); };
  const auto number = [&](int64_t value) { return f.b.getInt64(value); };
  set(offsetof(GemmArgs, struct_size), number(sizeof(GemmArgs)));
  set(offsetof(GemmArgs, dtype), number(static_cast<int64_t>(gemm.dtype)));
  set(offsetof(GemmArgs, rhs_layout), number(static_cast<int64_t>(gemm.rhs_layout)));
  set(offsetof(GemmArgs, rhs_constant), number(unit.program.buffers[gemm.rhs].place == Place::kConstant));
  set(offsetof(GemmArgs, workers), f.LoadI64(f.context(), offsetof(RtContext, workers), "workers"));
  set(offsetof(GemmArgs, batch), shapes.Dim(gemm.batch).value);
  set(offsetof(GemmArgs, m), shapes.Dim(gemm.m).value);
  set(offsetof(GemmArgs, n), shapes.Dim(gemm.n).value);
  set(offsetof(GemmArgs, k), shapes.Dim(gemm.k).value);
  for (size_t i = 0; i < 3; ++i) {
    set(offsetof(GemmArgs, lhs_strides) + 8 * i, shapes.Dim(gemm.lhs_strides[i]).value);
    set(offsetof(GemmArgs, rhs_strides) + 8 * i, shapes.Dim(gemm.rhs_strides[i]).value);
  }
  ForEachOperand(unit.program, gemm, [&](const HostBuffer& buffer, size_t offset) {
    set(offset, IsPlaced(buffer) ? place_of(buffer) : llvm::ConstantPointerNull::get(f.b.getPtrTy()));
  });
  llvm::Value* taken = f.CallApi(offsetof(RtApi, offer), f.b.getInt32Ty(), {args});
  f.Store(f.b.CreateZExt(taken, f.b.getInt64Ty(), "taken"), shape_cache, ShapeCacheByte(words.taken));
}

llvm::Value* EmitIsTaken(HostFunction& f, const HostUnit& unit, int index, llvm::Value* shape_cache) {
  llvm::Value* taken = f.LoadI64(shape_cache, ShapeCacheByte(unit.shape_cache.gemms[index].taken), "taken");
  return f.b.CreateICmpNE(taken, f.b.getInt64(0), "is.taken");
}

void EmitGemm(HostFunction& f, const HostUnit& unit, int index, llvm::Value* shape_cache,
              llvm::function_ref<llvm::Value*(const HostBuffer&)> data_of) {
  llvm::Value* args = f.Address(shape_cache, ShapeCacheByte(unit.shape_cache.gemms[index].args));
  ForEachOperand(unit.program, unit.program.gemms[index], [&](const HostBuffer& buffer, size_t offset) {
    if (!IsPlaced(buffer)) f.Store(data_of(buffer), args, static_cast<int64_t>(offset));
  });
  f.ReturnIfFailed(f.CallApi(offsetof(RtApi, gemm), f.b.getInt32Ty(), {args}));
}

}  // namespace tailor::host
