// The prologue of a kernel function.
#include "codegen/plan/plan_queries.h"
#include "codegen/scalar/scalar_emitter.h"
#include "llvm/IR/MDBuilder.h"
#include "llvm/IR/Module.h"

namespace tailor {

llvm::Value* KernelFrame::DimSizeValue(llvm::IRBuilderBase& b, const DimSize& dim_size) const {
  if (dim_size.is_constant()) return b.getInt64(dim_size.constant);
  return dims[dim_size.slot];
}

llvm::Value* PlaceRowBuffers(llvm::IRBuilderBase& b, const KernelPlan& plan, llvm::Value* scratch, KernelFrame& frame,
                             int rows) {
  for (size_t i = 0; i < plan.buffers.size(); ++i) {
    const Buffer& buffer = plan.buffers[i];
    if (buffer.kind != BufferKind::kRow) continue;
    frame.buffers[i] = scratch;
    llvm::Value* bytes = b.getInt64(int64_t{rows} * SizeOf(buffer.dtype));
    for (const DimSize& dim_size : buffer.dims)
      bytes = b.CreateMul(bytes, frame.DimSizeValue(b, dim_size), "row.bytes");
    bytes = b.CreateAnd(b.CreateAdd(bytes, b.getInt64(63)), b.getInt64(~uint64_t{63}), "row.bytes.aligned");
    scratch = b.CreateInBoundsGEP(b.getInt8Ty(), scratch, bytes, "row.next");
  }
  return scratch;
}

void AddAliasScopes(llvm::LLVMContext& context, const KernelPlan& plan, KernelFrame& frame) {
  llvm::MDBuilder md(context);
  llvm::MDNode* domain = md.createAnonymousAliasScopeDomain("kernel");
  std::vector<llvm::Metadata*> scopes;
  for (size_t i = 0; i < plan.buffers.size(); ++i) {
    scopes.push_back(md.createAnonymousAliasScope(domain, ("b" + llvm::Twine(i)).str()));
  }
  for (size_t i = 0; i < scopes.size(); ++i) {
    std::vector<llvm::Metadata*> others = scopes;
    others.erase(others.begin() + i);
    frame.alias_scope.push_back(llvm::MDNode::get(context, {scopes[i]}));
    frame.noalias.push_back(llvm::MDNode::get(context, others));
  }
}

KernelFrame FrameOf(const KernelPlan& plan, const KernelSignature& signature,
                    llvm::function_ref<llvm::Value*(const KernelParameter&)> value) {
  KernelFrame frame;
  frame.buffers.resize(plan.buffers.size());
  frame.dims.resize(plan.dims.size());
  const auto place = [&](const KernelParameter& parameter) -> llvm::Value*& {
    if (parameter.kind == KernelParameter::kBuffer) return frame.buffers[parameter.index];
    if (parameter.kind == KernelParameter::kDim) return frame.dims[parameter.index];
    if (parameter.kind == KernelParameter::kTensorMap) return frame.tensor_maps.emplace_back();
    return frame.others[parameter.kind];
  };
  for (const KernelParameter& parameter : signature.parameters()) place(parameter) = value(parameter);
  return frame;
}

KernelFrame OpenKernelFunction(llvm::IRBuilderBase& b, llvm::Module& module, const KernelPlan& plan,
                               const KernelSignature& signature, llvm::StringRef name, llvm::Type* more) {
  llvm::Type* i64 = b.getInt64Ty();
  llvm::SmallVector<llvm::Type*> parameters = {b.getPtrTy(), i64, i64, i64};
  if (more != nullptr) parameters.push_back(more);
  auto* type = llvm::FunctionType::get(b.getVoidTy(), parameters, false);
  auto* function = llvm::Function::Create(type, llvm::GlobalValue::ExternalLinkage, name, module);
  constexpr const char* kNames[] = {"args", "begin", "end", "worker"};
  for (int i = 0; i < 4; ++i) function->getArg(i)->setName(kNames[i]);
  function->addParamAttr(0, llvm::Attribute::NoAlias);
  function->addParamAttr(0, llvm::Attribute::ReadOnly);
  b.SetInsertPoint(llvm::BasicBlock::Create(module.getContext(), "entry", function));

  int next = 0;
  KernelFrame frame = FrameOf(plan, signature, [&](const KernelParameter& parameter) {
    llvm::Value* slot = b.CreateConstInBoundsGEP1_64(i64, function->getArg(0), next++, "slot");
    return b.CreateAlignedLoad(parameter.is_address() ? b.getPtrTy() : i64, slot, llvm::Align(8), parameter.Name());
  });
  if (llvm::Value* scratch = frame.Get(KernelParameter::kScratch)) {
    llvm::Value* own = b.CreateMul(function->getArg(3), frame.Get(KernelParameter::kScratchBytes), "scratch.own");
    frame.scratch = b.CreateInBoundsGEP(b.getInt8Ty(), scratch, own, "scratch.worker");
    PlaceRowBuffers(b, plan, frame.scratch, frame);
  }
  AddAliasScopes(module.getContext(), plan, frame);
  return frame;
}

}  // namespace tailor
