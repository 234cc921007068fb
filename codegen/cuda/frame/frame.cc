#include "codegen/cuda/frame/frame.h"

#include <string>

#include "codegen/cuda/device_ir/device_intrinsics.h"
#include "codegen/cuda/schedule/access.h"
#include "codegen/plan/plan_queries.h"

namespace tailor::cuda {
namespace {

llvm::Type* TypeOf(llvm::IRBuilderBase& b, const KernelParameter& parameter) {
  if (parameter.kind == KernelParameter::kTensorMap) return b.getPtrTy();
  if (parameter.is_address()) return b.getPtrTy(device::kGlobalSpace);
  return b.getInt64Ty();
}

// Tensor maps are byval parameters (grid constants), whose addresses are taken in place. `numbers`: their parameters.
void DescribeMaps(llvm::IRBuilderBase& b, const std::vector<unsigned>& numbers, llvm::Function* kernel) {
  if (numbers.empty()) return;
  llvm::LLVMContext& context = b.getContext();
  std::vector<llvm::Metadata*> counted_from_1;
  for (unsigned i : numbers) {
    auto* bytes = llvm::ArrayType::get(b.getInt8Ty(), kTensorMapBytes);
    kernel->addParamAttr(i, llvm::Attribute::getWithByValType(context, bytes));
    kernel->addParamAttr(i, llvm::Attribute::getWithAlignment(context, llvm::Align(kTensorMapAlignment)));
    counted_from_1.push_back(llvm::ConstantAsMetadata::get(b.getInt32(i + 1)));
  }
  llvm::Metadata* constant[] = {llvm::ValueAsMetadata::get(kernel), llvm::MDString::get(context, "grid_constant"),
                                llvm::MDNode::get(context, counted_from_1)};
  kernel->getParent()->getOrInsertNamedMetadata("nvvm.annotations")->addOperand(llvm::MDNode::get(context, constant));
}

llvm::Function* DeclareKernel(llvm::IRBuilderBase& b, llvm::Module& module, const KernelPlan& plan,
                              const KernelSignature& signature, const CudaVersion& version, llvm::StringRef name) {
  std::vector<llvm::Type*> types;
  for (const KernelParameter& parameter : signature.parameters()) types.push_back(TypeOf(b, parameter));
  auto* kernel = llvm::Function::Create(llvm::FunctionType::get(b.getVoidTy(), types, false),
                                        llvm::GlobalValue::ExternalLinkage, name, module);
  kernel->setCallingConv(llvm::CallingConv::PTX_Kernel);
  kernel->setDoesNotThrow();
  std::vector<unsigned> maps;
  for (unsigned i = 0; i < kernel->arg_size(); ++i) {
    const KernelParameter& parameter = signature.parameters()[i];
    kernel->getArg(i)->setName(parameter.Name());
    if (parameter.kind == KernelParameter::kTensorMap) maps.push_back(i);
    if (parameter.kind != KernelParameter::kBuffer) continue;
    const bool read_only = plan.buffers[parameter.index].kind == BufferKind::kInput;
    if (read_only) kernel->addParamAttr(i, llvm::Attribute::ReadOnly);
    // Not noalias if kept: there threads read what others wrote before a barrier.
    if (read_only || !IsKept(plan, parameter.index)) kernel->addParamAttr(i, llvm::Attribute::NoAlias);
  }
  const auto annotate = [&](const char* what, int number) {
    llvm::LLVMContext& context = module.getContext();
    llvm::Metadata* bound[] = {llvm::ValueAsMetadata::get(kernel), llvm::MDString::get(context, what),
                               llvm::ConstantAsMetadata::get(b.getInt32(number))};
    module.getOrInsertNamedMetadata("nvvm.annotations")->addOperand(llvm::MDNode::get(context, bound));
  };
  annotate("maxntidx", version.threads);
  if (version.resident_blocks > 0) annotate("minctasm", version.resident_blocks);
  DescribeMaps(b, maps, kernel);
  return kernel;
}

// Address of the row buffers of this thread's row, if those of the block's first row begin at `rows`.
llvm::Value* OwnRow(llvm::IRBuilderBase& b, const KernelPlan& plan, const CudaVersion& version, llvm::Value* rows,
                    KernelFrame first) {
  llvm::Value* end = PlaceRowBuffers(b, plan, rows, first);
  llvm::Value* bytes = b.CreatePtrDiff(b.getInt8Ty(), end, rows, "row.bytes");
  llvm::Value* row = b.CreateUDiv(device::EmitThreadId(b), b.getInt32(version.row_threads), "row.of_block");
  llvm::Value* offset = b.CreateMul(b.CreateZExt(row, b.getInt64Ty()), bytes, "row.offset");
  return b.CreateInBoundsGEP(b.getInt8Ty(), rows, offset, "rows.own");
}

// Address of the row buffers of the block's first row, or of this thread's row: in shared memory, or in the block's
// `bytes` bytes of the scratch at `base`.
llvm::Value* RowsOfBlock(llvm::IRBuilderBase& b, const KernelPlan& plan, const CudaVersion& version, llvm::Value* base,
                         llvm::Value* bytes, const KernelFrame& frame) {
  if (!version.rows_in_shared) {
    llvm::Value* block = b.CreateZExt(device::EmitBlockId(b), b.getInt64Ty(), "block");
    return b.CreateInBoundsGEP(b.getInt8Ty(), base, b.CreateMul(block, bytes, "scratch.offset"), "rows");
  }
  llvm::Value* rows =
      b.CreateConstInBoundsGEP1_64(b.getInt8Ty(), device::EmitSharedMemory(b), version.partial_bytes, "rows");
  return version.points() > 1 ? OwnRow(b, plan, version, rows, frame) : rows;
}

}  // namespace

CudaFrame OpenCudaKernel(llvm::IRBuilderBase& b, llvm::Module& module, const KernelPlan& plan,
                         const CudaVersion& version, llvm::StringRef name) {
  const KernelSignature signature = version.Signature(plan);
  llvm::Function* kernel = DeclareKernel(b, module, plan, signature, version, name);
  b.SetInsertPoint(llvm::BasicBlock::Create(module.getContext(), "entry", kernel));
  llvm::Argument* next = kernel->arg_begin();
  CudaFrame frame{FrameOf(plan, signature, [&](const KernelParameter&) { return next++; })};
  if (version.cooperative) {
    frame.scratch = frame.Get(KernelParameter::kLaunchScratch);
    frame.row_bytes =
        b.CreatePtrDiff(b.getInt8Ty(), PlaceRowBuffers(b, plan, frame.scratch, frame), frame.scratch, "row.bytes");
  } else if (frame.Get(KernelParameter::kScratch) != nullptr) {
    PlaceRowBuffers(b, plan,
                    RowsOfBlock(b, plan, version, frame.Get(KernelParameter::kScratch),
                                frame.Get(KernelParameter::kScratchBytes), frame),
                    frame);
  }
  AddAliasScopes(module.getContext(), plan, frame);
  return frame;
}

}  // namespace tailor::cuda
