#include "codegen/cuda/frame/frame.h"

#include <string>

#include "codegen/cuda/device_ir/device_intrinsics.h"
#include "codegen/cuda/schedule/access.h"
#include "codegen/plan/plan_queries.h"

namespace tailor::cuda {
namespace {

struct Parameter {
  llvm::Type* type;
  std::string name;
  bool read_only = false;
  bool exchanged = false;  // between threads: what another wrote there before a barrier is seen behind it
};

std::vector<Parameter> ParametersOf(llvm::IRBuilderBase& b, const KernelPlan& plan, const CudaVersion& version) {
  llvm::Type* global = b.getPtrTy(device::kGlobalSpace);
  std::vector<Parameter> parameters;
  for (size_t i = 0; i < plan.buffers.size(); ++i) {
    const BufferKind kind = plan.buffers[i].kind;
    if (kind != BufferKind::kInput && kind != BufferKind::kOutput) continue;
    const bool input = kind == BufferKind::kInput;
    parameters.push_back({global, "b" + std::to_string(i), input, !input && IsKept(plan, static_cast<int>(i))});
  }
  for (size_t i = 0; i < plan.dims.size(); ++i) parameters.push_back({b.getInt64Ty(), "d" + std::to_string(i)});
  if (HasScratch(plan)) {
    parameters.push_back({.type = global, .name = "scratch", .exchanged = true});
    parameters.push_back({b.getInt64Ty(), "scratch.bytes"});
  }
  if (plan.fault_count > 0) {
    parameters.push_back({.type = global, .name = "fault", .exchanged = true});
    parameters.push_back({b.getInt64Ty(), "fault.base"});
  }
  if (version.together) {
    parameters.push_back({.type = global, .name = "launch.scratch", .exchanged = true});
    parameters.push_back({.type = global, .name = "meeting", .exchanged = true});
    parameters.push_back({b.getInt64Ty(), "parts"});
  }
  return parameters;
}

// The last parameters are maps: objects whose addresses are taken where they lie, among the parameters.
void AddMaps(llvm::IRBuilderBase& b, const CudaVersion& version, llvm::Function* kernel) {
  if (version.maps.empty()) return;
  llvm::LLVMContext& context = b.getContext();
  std::vector<llvm::Metadata*> numbers;
  const auto first = static_cast<unsigned>(kernel->arg_size() - version.maps.size());
  for (unsigned i = first; i < kernel->arg_size(); ++i) {
    kernel->getArg(i)->setName("map" + std::to_string(i - first));
    auto* bytes = llvm::ArrayType::get(b.getInt8Ty(), kTensorMapBytes);
    kernel->addParamAttr(i, llvm::Attribute::getWithByValType(context, bytes));
    kernel->addParamAttr(i, llvm::Attribute::getWithAlignment(context, llvm::Align(kTensorMapAlignment)));
    numbers.push_back(llvm::ConstantAsMetadata::get(b.getInt32(i + 1)));
  }
  llvm::Metadata* constant[] = {llvm::ValueAsMetadata::get(kernel), llvm::MDString::get(context, "grid_constant"),
                                llvm::MDNode::get(context, numbers)};
  kernel->getParent()->getOrInsertNamedMetadata("nvvm.annotations")->addOperand(llvm::MDNode::get(context, constant));
}

llvm::Function* DeclareKernel(llvm::IRBuilderBase& b, llvm::Module& module, const std::vector<Parameter>& parameters,
                              const CudaVersion& version, llvm::StringRef name) {
  std::vector<llvm::Type*> types;
  for (const Parameter& p : parameters) types.push_back(p.type);
  types.insert(types.end(), version.maps.size(), b.getPtrTy());
  auto* kernel = llvm::Function::Create(llvm::FunctionType::get(b.getVoidTy(), types, false),
                                        llvm::GlobalValue::ExternalLinkage, name, module);
  kernel->setCallingConv(llvm::CallingConv::PTX_Kernel);
  kernel->setDoesNotThrow();
  for (unsigned i = 0; i < parameters.size(); ++i) {
    kernel->getArg(i)->setName(parameters[i].name);
    if (!parameters[i].type->isPointerTy() || parameters[i].exchanged) continue;
    kernel->addParamAttr(i, llvm::Attribute::NoAlias);
    if (parameters[i].read_only) kernel->addParamAttr(i, llvm::Attribute::ReadOnly);
  }
  const auto annotate = [&](const char* what, int number) {
    llvm::LLVMContext& context = module.getContext();
    llvm::Metadata* bound[] = {llvm::ValueAsMetadata::get(kernel), llvm::MDString::get(context, what),
                               llvm::ConstantAsMetadata::get(b.getInt32(number))};
    module.getOrInsertNamedMetadata("nvvm.annotations")->addOperand(llvm::MDNode::get(context, bound));
  };
  annotate("maxntidx", version.threads);
  if (version.resident_blocks > 0) annotate("minctasm", version.resident_blocks);
  AddMaps(b, version, kernel);
  return kernel;
}

// Where the row buffers of this thread's row begin, if those of the block's first row do at `rows`.
llvm::Value* OwnRow(llvm::IRBuilderBase& b, const KernelPlan& plan, const CudaVersion& version, llvm::Value* rows,
                    KernelFrame first) {
  llvm::Value* end = PlaceRowBuffers(b, plan, rows, first);
  llvm::Value* bytes = b.CreatePtrDiff(b.getInt8Ty(), end, rows, "row.bytes");
  llvm::Value* row = b.CreateUDiv(device::EmitThreadId(b), b.getInt32(version.row_threads), "row.of_block");
  llvm::Value* offset = b.CreateMul(b.CreateZExt(row, b.getInt64Ty()), bytes, "row.offset");
  return b.CreateInBoundsGEP(b.getInt8Ty(), rows, offset, "rows.own");
}

// Where those of the block's first row, or of this thread's, begin: in shared memory, or in the block's `bytes` of the
// scratch at `base`.
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
  llvm::Function* kernel = DeclareKernel(b, module, ParametersOf(b, plan, version), version, name);
  b.SetInsertPoint(llvm::BasicBlock::Create(module.getContext(), "entry", kernel));
  CudaFrame frame;
  llvm::Argument* next = kernel->arg_begin();
  for (const Buffer& buffer : plan.buffers) {
    const bool bound = buffer.kind == BufferKind::kInput || buffer.kind == BufferKind::kOutput;
    frame.buffers.push_back(bound ? next++ : nullptr);
  }
  for (size_t i = 0; i < plan.dims.size(); ++i) frame.dims.push_back(next++);
  if (HasScratch(plan)) {
    llvm::Value* base = next++;
    llvm::Value* bytes = next++;
    if (!version.together) PlaceRowBuffers(b, plan, RowsOfBlock(b, plan, version, base, bytes, frame), frame);
  }
  if (plan.fault_count > 0) {
    frame.fault = next++;
    frame.fault_base = next++;
  }
  if (version.together) {
    frame.scratch = next++;
    frame.meeting = next++;
    frame.parts = next++;
    frame.row_bytes =
        b.CreatePtrDiff(b.getInt8Ty(), PlaceRowBuffers(b, plan, frame.scratch, frame), frame.scratch, "row.bytes");
  }
  AddAliasScopes(module.getContext(), plan, frame);
  return frame;
}

}  // namespace tailor::cuda
