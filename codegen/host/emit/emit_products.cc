#include "codegen/host/emit/emit_products.h"

namespace tailor::host {
namespace {

using Place = HostBuffer::Place;

bool IsPlaced(const HostBuffer& buffer) {
  return buffer.place == Place::kConstant || buffer.place == Place::kWorkspace;
}

// Calls body(buffer, where ProductArgs has its address) for each operand.
template <typename Body>
void ForEachOperand(const HostProgram& program, const Product& product, Body body) {
  body(program.buffers[product.lhs], offsetof(ProductArgs, lhs));
  body(program.buffers[product.rhs], offsetof(ProductArgs, rhs));
  body(program.buffers[product.out], offsetof(ProductArgs, out));
}

}  // namespace

void EmitProductLayout(HostFunction& f, HostShapes& shapes, const HostUnit& unit, int index, llvm::Value* memo,
                       llvm::function_ref<llvm::Value*(const HostBuffer&)> place_of) {
  const Product& product = unit.program.products[index];
  const HostMemo::ProductWords& words = unit.memo.products[index];
  llvm::Value* args = f.Address(memo, MemoByte(words.args));
  const auto set = [&](size_t offset, llvm::Value* value) { f.Store(value, args, static_cast<int64_t>(offset)); };
  const auto number = [&](int64_t value) { return f.b.getInt64(value); };
  set(offsetof(ProductArgs, struct_size), number(sizeof(ProductArgs)));
  set(offsetof(ProductArgs, dtype), number(static_cast<int64_t>(product.dtype)));
  set(offsetof(ProductArgs, rhs_layout), number(static_cast<int64_t>(product.rhs_layout)));
  set(offsetof(ProductArgs, rhs_constant), number(unit.program.buffers[product.rhs].place == Place::kConstant));
  set(offsetof(ProductArgs, workers), f.LoadI64(f.context(), offsetof(RtContext, workers), "workers"));
  set(offsetof(ProductArgs, batch), shapes.Dim(product.batch).value);
  set(offsetof(ProductArgs, m), shapes.Dim(product.m).value);
  set(offsetof(ProductArgs, n), shapes.Dim(product.n).value);
  set(offsetof(ProductArgs, k), shapes.Dim(product.k).value);
  for (size_t i = 0; i < 3; ++i) {
    set(offsetof(ProductArgs, lhs_strides) + 8 * i, shapes.Dim(product.lhs_strides[i]).value);
    set(offsetof(ProductArgs, rhs_strides) + 8 * i, shapes.Dim(product.rhs_strides[i]).value);
  }
  ForEachOperand(unit.program, product, [&](const HostBuffer& buffer, size_t offset) {
    set(offset, IsPlaced(buffer) ? place_of(buffer) : llvm::ConstantPointerNull::get(f.b.getPtrTy()));
  });
  llvm::Value* taken = f.CallApi(offsetof(RtApi, offer), f.b.getInt32Ty(), {args});
  f.Store(f.b.CreateZExt(taken, f.b.getInt64Ty(), "taken"), memo, MemoByte(words.taken));
}

llvm::Value* EmitIsTaken(HostFunction& f, const HostUnit& unit, int index, llvm::Value* memo) {
  llvm::Value* taken = f.LoadI64(memo, MemoByte(unit.memo.products[index].taken), "taken");
  return f.b.CreateICmpNE(taken, f.b.getInt64(0), "is.taken");
}

void EmitProduct(HostFunction& f, const HostUnit& unit, int index, llvm::Value* memo,
                 llvm::function_ref<llvm::Value*(const HostBuffer&)> data_of) {
  llvm::Value* args = f.Address(memo, MemoByte(unit.memo.products[index].args));
  ForEachOperand(unit.program, unit.program.products[index], [&](const HostBuffer& buffer, size_t offset) {
    if (!IsPlaced(buffer)) f.Store(data_of(buffer), args, static_cast<int64_t>(offset));
  });
  f.ReturnIfFailed(f.CallApi(offsetof(RtApi, product), f.b.getInt32Ty(), {args}));
}

}  // namespace tailor::host
