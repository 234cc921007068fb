// The prologue of a kernel function: what its argument block holds, and where.
#include "codegen/plan/plan_queries.h"
#include "codegen/scalar/scalar_emitter.h"
#include "llvm/IR/MDBuilder.h"
#include "llvm/IR/Module.h"

namespace tailor {
namespace {

// Loads argument slots in order.
class SlotReader {
 public:
  SlotReader(llvm::IRBuilderBase& b, llvm::Value* args) : b_(b), args_(args) {}
  llvm::Value* Next(llvm::Type* type, const llvm::Twine& name) {
    llvm::Value* slot = b_.CreateConstInBoundsGEP1_64(b_.getInt64Ty(), args_, next_++, "slot");
    return b_.CreateAlignedLoad(type, slot, llvm::Align(8), name);
  }

 private:
  llvm::IRBuilderBase& b_;
  llvm::Value* args_;
  int next_ = 0;
};

}  // namespace

llvm::Value* KernelFrame::ExtentValue(llvm::IRBuilderBase& b, const Extent& extent) const {
  if (extent.is_constant()) return b.getInt64(extent.constant);
  return dims[extent.slot];
}

llvm::Value* PlaceRowBuffers(llvm::IRBuilderBase& b, const KernelPlan& plan, llvm::Value* scratch, KernelFrame& frame,
                             int rows) {
  for (size_t i = 0; i < plan.buffers.size(); ++i) {
    const Buffer& buffer = plan.buffers[i];
    if (buffer.kind != BufferKind::kRow) continue;
    frame.buffers[i] = scratch;
    llvm::Value* bytes = b.getInt64(int64_t{rows} * SizeOf(buffer.dtype));
    for (const Extent& extent : buffer.dims) bytes = b.CreateMul(bytes, frame.ExtentValue(b, extent), "row.bytes");
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

KernelFrame OpenKernelFunction(llvm::IRBuilderBase& b, llvm::Module& module, const KernelPlan& plan,
                               llvm::StringRef name) {
  llvm::Type* i64 = b.getInt64Ty();
  auto* type = llvm::FunctionType::get(b.getVoidTy(), {b.getPtrTy(), i64, i64, i64}, false);
  auto* function = llvm::Function::Create(type, llvm::GlobalValue::ExternalLinkage, name, module);
  constexpr const char* kNames[] = {"args", "begin", "end", "worker"};
  for (int i = 0; i < 4; ++i) function->getArg(i)->setName(kNames[i]);
  function->addParamAttr(0, llvm::Attribute::NoAlias);
  function->addParamAttr(0, llvm::Attribute::ReadOnly);
  b.SetInsertPoint(llvm::BasicBlock::Create(module.getContext(), "entry", function));

  KernelFrame frame;
  SlotReader slots(b, function->getArg(0));
  for (size_t i = 0; i < plan.buffers.size(); ++i) {
    const BufferKind kind = plan.buffers[i].kind;
    const bool bound = kind == BufferKind::kInput || kind == BufferKind::kOutput;
    frame.buffers.push_back(bound ? slots.Next(b.getPtrTy(), "b" + llvm::Twine(i)) : nullptr);
  }
  for (size_t i = 0; i < plan.dims.size(); ++i) frame.dims.push_back(slots.Next(i64, "d" + llvm::Twine(i)));
  if (HasScratch(plan)) {
    llvm::Value* base = slots.Next(b.getPtrTy(), "scratch");
    llvm::Value* stride = slots.Next(i64, "scratch.bytes");
    llvm::Value* own = b.CreateMul(function->getArg(3), stride, "scratch.own");
    frame.scratch = b.CreateInBoundsGEP(b.getInt8Ty(), base, own, "scratch.worker");
    PlaceRowBuffers(b, plan, frame.scratch, frame);
  }
  if (plan.fault_count > 0) {
    frame.fault = slots.Next(b.getPtrTy(), "fault");
    frame.fault_base = slots.Next(i64, "fault.base");
  }
  AddAliasScopes(module.getContext(), plan, frame);
  return frame;
}

}  // namespace tailor
