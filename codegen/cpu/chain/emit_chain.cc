// Task functions of chains. Each link is a separate kernel function. For a buffer that it shares with its neighbours,
// its argument block holds a virtual base address: where the whole tensor would begin if the task's rows lie in this
// worker's scratch. So links compute the same bits as separate kernels.
#include <vector>

#include "absl/strings/str_cat.h"
#include "codegen/cpu/chain/emit_chain.h"
#include "codegen/cpu/gemm/emit_contraction.h"
#include "codegen/cpu/loops/emit_loops.h"
#include "codegen/cpu/tiling/even_tiling.h"
#include "codegen/ir/emit_loop.h"
#include "codegen/plan/kernel_signature.h"
#include "codegen/scalar/scalar_emitter.h"
#include "graph/status_macros.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/MD5.h"

namespace tailor::cpu {
namespace {

using llvm::Value;

class ChainEmitter {
 public:
  ChainEmitter(const KernelPlan& plan, const Schedule& schedule, llvm::Module& module, const std::string& name)
      : plan_(plan),
        schedule_(schedule),
        tile_(schedule.links[0].tile),
        b_(module.getContext()),
        frame_(OpenKernelFunction(b_, module, plan, KernelSignature::OnHost(plan, schedule), name)),
        function_(b_.GetInsertBlock()->getParent()) {}

  void Emit(const std::vector<llvm::FunctionCallee>& links) {
    PlaceBlocks();
    int fault = 0;
    for (size_t i = 0; i < links.size(); ++i) {
      arguments_.push_back(FillArguments(i, fault));
      fault += plan_.links()[i].plan.fault_count;
    }
    Value* rows = frame_.DimSizeValue(b_, plan_.axes.back().dim_size);
    tiling_ = gemm::EvenTiling::OfRows(b_, rows, tile_);
    Value* blocks = b_.CreateBinaryIntrinsic(llvm::Intrinsic::umax, b_.getInt64(1),
                                             gemm::EmitCeilDiv(b_, rows, b_.getInt64(tile_.task_rows), "blocks"));
    EmitLoop(b_, function_->getArg(1), function_->getArg(2), 1, "task", [&](Value* task) {
      Value* block = b_.CreateURem(task, blocks, "block");
      Value* before = b_.CreateMul(b_.CreateUDiv(task, blocks, "batch"), rows, "rows.before");
      Value* next_block = b_.CreateAdd(block, b_.getInt64(1));
      Value* first = b_.CreateAdd(before, tiling_.Start(b_, tiling_.BlockStart(b_, block, blocks)), "row.first");
      Value* end = b_.CreateAdd(before, tiling_.Start(b_, tiling_.BlockStart(b_, next_block, blocks)), "row.end");
      PointAt(first);
      for (size_t i = 0; i < links.size(); ++i) {
        const bool matmul =
            plan_.links()[i].plan.IsContraction();  // a matmul's task is the chain's task; other links' tasks are rows
        Value* task_end = b_.CreateAdd(task, b_.getInt64(1));
        b_.CreateCall(links[i],
                      {arguments_[i], matmul ? task : first, matmul ? task_end : end, /*worker=*/b_.getInt64(0)});
      }
    });
    b_.CreateRetVoid();
  }

 private:
  // Blocks lie at the start of the scratch; the links' own scratch follows.
  void PlaceBlocks() {
    scratch_ = frame_.scratch;
    for (size_t i = 0; i < plan_.buffers.size(); ++i) {
      const Buffer& buffer = plan_.buffers[i];
      if (buffer.kind != BufferKind::kBlock) continue;
      Value* row = b_.getInt64(SizeOf(buffer.dtype));
      for (const DimSize& dim_size : buffer.dims)
        row = b_.CreateMul(row, frame_.DimSizeValue(b_, dim_size), "row.bytes");
      blocks_.push_back({static_cast<int>(i), row, scratch_});
      Value* bytes = b_.CreateMul(row, b_.getInt64(tile_.task_rows));
      bytes = b_.CreateAnd(b_.CreateAdd(bytes, b_.getInt64(63)), b_.getInt64(~uint64_t{63}), "block.bytes");
      scratch_ = b_.CreateInBoundsGEP(b_.getInt8Ty(), scratch_, bytes, "block.end");
    }
  }

  // The argument block of a link, except for the addresses that change with the task.
  Value* FillArguments(size_t link, int first_fault) {
    const ChainLink& called = plan_.links()[link];
    const KernelSignature signature = KernelSignature::OnHost(called.plan, schedule_.links[link]);
    auto* slots = b_.CreateAlloca(b_.getInt64Ty(), b_.getInt64(signature.slots()), "link.args");
    int next = 0;
    for (const KernelParameter& parameter : signature.parameters()) {
      Value* slot = Slot(slots, next++);
      const bool buffer = parameter.kind == KernelParameter::kBuffer;
      if (buffer && plan_.buffers[called.buffers[parameter.index]].kind == BufferKind::kBlock) {
        shared_.push_back({called.buffers[parameter.index], slot});
      } else {
        b_.CreateStore(Argument(called, parameter, first_fault), slot);
      }
    }
    return slots;
  }

  // The chain's argument for a parameter of a link. Scratch and fault base are adjusted to the link.
  Value* Argument(const ChainLink& link, const KernelParameter& parameter, int first_fault) {
    switch (parameter.kind) {
      case KernelParameter::kBuffer:
        return frame_.buffers[link.buffers[parameter.index]];
      case KernelParameter::kDim:
        return frame_.dims[link.dims[parameter.index]];
      case KernelParameter::kScratch:
        return scratch_;
      case KernelParameter::kScratchBytes:
        return b_.getInt64(0);  // the address is already this worker's
      case KernelParameter::kFaultBase:
        return b_.CreateAdd(frame_.Get(parameter.kind), b_.getInt64(first_fault));
      default:
        return frame_.Get(parameter.kind);
    }
  }

  Value* Slot(Value* slots, int number) {
    return b_.CreateConstInBoundsGEP1_64(b_.getInt64Ty(), slots, number, "slot");
  }

  // Points the links at the blocks, which hold rows from `first` on.
  void PointAt(Value* first) {
    for (const Block& block : blocks_) {
      Value* offset = b_.CreateNeg(b_.CreateMul(first, block.row_bytes), "origin.offset");
      Value* origin = b_.CreateGEP(b_.getInt8Ty(), block.address, offset, "origin");
      for (const auto& [buffer, slot] : shared_) {
        if (buffer == block.buffer) b_.CreateStore(origin, slot);
      }
    }
  }

  struct Block {
    int buffer;
    Value* row_bytes;
    Value* address;
  };

  const KernelPlan& plan_;
  const Schedule& schedule_;
  const ContractionTile& tile_;
  llvm::IRBuilder<> b_;
  KernelFrame frame_;
  llvm::Function* function_;
  gemm::EvenTiling tiling_;  // of the rows, shared with the matmuls
  Value* scratch_ = nullptr;
  std::vector<Block> blocks_;
  std::vector<std::pair<int, Value*>> shared_;  // argument slots that hold a block's address
  std::vector<Value*> arguments_;               // by link
};

std::string RowsName(const KernelPlan& plan, const Schedule& schedule) {
  const std::string text = absl::StrCat(plan.dims.size(), " ", plan.Text(), schedule.Text());
  const auto hash = llvm::MD5::hash(llvm::arrayRefFromStringRef(text));
  return absl::StrCat("rows_", llvm::toHex(hash, /*LowerCase=*/true));
}

std::string VersionName(const std::string& kernel) { return kernel + "_v0"; }  // links have one version

}  // namespace

std::vector<RowsFunction> RowsOfChain(const KernelPlan& plan, const Schedule& schedule, const EmitTarget& target) {
  std::vector<RowsFunction> functions;
  for (size_t i = 0; i < plan.links().size(); ++i) {
    const KernelPlan& link = plan.links()[i].plan;
    if (link.IsContraction()) continue;
    const std::string name = RowsName(link, schedule.links[i]);
    functions.push_back({VersionName(name), [&link, schedule = schedule.links[i], target, name](llvm::Module& module) {
                           return EmitLoops(link, schedule, target, name, module);
                         }});
  }
  return functions;
}

absl::Status EmitChain(const KernelPlan& plan, const Schedule& schedule, const EmitTarget& target,
                       const std::string& name, llvm::Module& module) {
  llvm::Type *pointer = llvm::PointerType::getUnqual(module.getContext()),
             *number = llvm::Type::getInt64Ty(module.getContext());
  auto* type = llvm::FunctionType::get(llvm::Type::getVoidTy(module.getContext()), {pointer, number, number, number},
                                       /*isVarArg=*/false);
  std::vector<llvm::FunctionCallee> links;
  for (size_t i = 0; i < plan.links().size(); ++i) {
    const KernelPlan& link = plan.links()[i].plan;
    if (schedule.links[i].versions.size() != 1) {
      return absl::InternalError(
          absl::StrCat(name, ": link ", i, " has ", schedule.links[i].versions.size(), " versions"));
    }
    if (!link.IsContraction()) {
      links.push_back(module.getOrInsertFunction(VersionName(RowsName(link, schedule.links[i])), type));
      continue;
    }
    const std::string own = absl::StrCat(name, "_link", i);
    TAILOR_RETURN_IF_ERROR(gemm::EmitContraction(link, schedule.links[i], target, own, module));
    llvm::Function* function = module.getFunction(VersionName(own));
    function->setLinkage(llvm::GlobalValue::InternalLinkage);
    function->addFnAttr(llvm::Attribute::NoInline);
    links.push_back(function);
  }
  ChainEmitter(plan, schedule, module, VersionName(name)).Emit(links);
  return absl::OkStatus();
}

}  // namespace tailor::cpu
