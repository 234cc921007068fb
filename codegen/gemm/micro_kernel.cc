#include "codegen/gemm/micro_kernel.h"

#include <algorithm>
#include <vector>

#include "llvm/IR/Intrinsics.h"

namespace tailor {
namespace {

enum Argument { kLhs, kRowStride, kDepthStride, kRhs, kPanelStride, kDepth, kTile, kResume, kAhead };

llvm::Function* DeclareMicroKernel(llvm::StringRef name, llvm::Module& module) {
  llvm::LLVMContext& context = module.getContext();
  llvm::Type* ptr = llvm::PointerType::getUnqual(context);
  llvm::Type* i64 = llvm::Type::getInt64Ty(context);
  llvm::Type* parameters[] = {ptr, i64, i64, ptr, i64, i64, ptr, llvm::Type::getInt1Ty(context), ptr};
  auto* type = llvm::FunctionType::get(llvm::Type::getVoidTy(context), parameters, false);
  auto* function = llvm::Function::Create(type, llvm::Function::InternalLinkage, name, module);
  function->addFnAttr(llvm::Attribute::NoInline);
  const char* const kNames[] = {"lhs",   "row_stride", "depth_stride", "rhs",  "panel_stride",
                                "depth", "tile",       "resume",       "ahead"};
  for (llvm::Argument& argument : function->args()) {
    argument.setName(kNames[argument.getArgNo()]);
    if (argument.getArgNo() != kAhead && argument.getType()->isPointerTy()) argument.addAttr(llvm::Attribute::NoAlias);
  }
  return function;
}

class MicroKernelEmitter {
 public:
  MicroKernelEmitter(const MicroKernel& kernel, const EmitTarget& target, llvm::Function* function)
      : kernel_(kernel), target_(target), function_(function), b_(function->getContext()) {
    pieces_ = kPanelColumns / kernel.lanes;
    vector_ = RegisterType(function->getContext(), kernel.accumulate, kernel.lanes);
  }

  // entry -> (resume) -> loop header <-> body -> exit, where the sums are written.
  void Emit() {
    llvm::BasicBlock* entry = Block("entry");
    llvm::BasicBlock* resume = Block("resume");
    llvm::BasicBlock* header = Block("header");
    llvm::BasicBlock* body = Block("body");
    llvm::BasicBlock* exit = Block("exit");

    b_.SetInsertPoint(entry);
    EmitAddresses();
    b_.CreateCondBr(Arg(kResume), resume, header);

    b_.SetInsertPoint(resume);
    std::vector<llvm::Value*> resumed = LoadTile();
    b_.CreateBr(header);

    b_.SetInsertPoint(header);
    llvm::PHINode* k = b_.CreatePHI(b_.getInt64Ty(), 3, "k");
    k->addIncoming(b_.getInt64(0), entry);
    k->addIncoming(b_.getInt64(0), resume);
    std::vector<llvm::PHINode*> sums;
    for (llvm::Value* value : resumed) {
      sums.push_back(b_.CreatePHI(vector_, 3, "sum"));
      sums.back()->addIncoming(llvm::Constant::getNullValue(vector_), entry);
      sums.back()->addIncoming(value, resume);
    }
    b_.CreateCondBr(b_.CreateICmpSLT(k, Arg(kDepth), "more"), body, exit);

    b_.SetInsertPoint(body);
    std::vector<llvm::Value*> next = EmitStep(k, sums);
    k->addIncoming(b_.CreateAdd(k, b_.getInt64(1), "k.next", true, true), body);
    for (size_t i = 0; i < sums.size(); ++i) sums[i]->addIncoming(next[i], body);
    b_.CreateBr(header);

    b_.SetInsertPoint(exit);
    for (size_t i = 0; i < sums.size(); ++i) b_.CreateAlignedStore(sums[i], TileAddress(i), TileAlign());
    b_.CreateRetVoid();
  }

 private:
  llvm::BasicBlock* Block(const char* name) {
    return llvm::BasicBlock::Create(function_->getContext(), name, function_);
  }
  llvm::Value* Arg(Argument argument) { return function_->getArg(argument); }
  llvm::Align TileAlign() const { return llvm::Align(kernel_.lanes * SizeOf(kernel_.accumulate)); }
  int TileSize() const { return kernel_.rows * kernel_.panels * pieces_; }

  llvm::Value* TileAddress(size_t piece) {
    return b_.CreateConstInBoundsGEP1_64(vector_, Arg(kTile), piece, "tile.piece");
  }

  // Row and panel starts.
  void EmitAddresses() {
    llvm::Type* lhs = MemoryType(function_->getContext(), kernel_.lhs, 1);
    llvm::Type* rhs = MemoryType(function_->getContext(), kernel_.rhs, 1);
    for (int r = 0; r < kernel_.rows; ++r) {
      llvm::Value* offset = b_.CreateMul(b_.getInt64(r), Arg(kRowStride), "row.offset");
      lhs_rows_.push_back(b_.CreateInBoundsGEP(lhs, Arg(kLhs), offset, "row"));
    }
    for (int p = 0; p < kernel_.panels; ++p) {
      llvm::Value* offset = b_.CreateMul(b_.getInt64(p), Arg(kPanelStride), "panel.offset");
      rhs_panels_.push_back(b_.CreateInBoundsGEP(rhs, Arg(kRhs), offset, "panel"));
    }
  }

  std::vector<llvm::Value*> LoadTile() {
    std::vector<llvm::Value*> values;
    for (int i = 0; i < TileSize(); ++i) {
      values.push_back(b_.CreateAlignedLoad(vector_, TileAddress(i), TileAlign(), "resumed"));
    }
    return values;
  }

  llvm::Value* ToAccumulate(DType dtype, llvm::Value* memory) {
    llvm::Value* value = FromLoaded(dtype, memory);
    const int lanes = value->getType()->isVectorTy() ? kernel_.lanes : 1;
    llvm::Type* type = RegisterType(function_->getContext(), kernel_.accumulate, lanes);
    return value->getType() == type ? value : b_.CreateFPExt(value, type, "widened");
  }

  // CPU levels with fused multiply-add have f16c too, where widening f16 is one instruction.
  llvm::Value* FromLoaded(DType dtype, llvm::Value* memory) {
    if (dtype != DType::kF16 || !target_.fma) return FromMemory(b_, dtype, memory);
    llvm::Type* half = b_.getHalfTy();
    if (memory->getType()->isVectorTy()) half = llvm::FixedVectorType::get(half, kernel_.lanes);
    llvm::Type* single = half->getWithNewType(b_.getFloatTy());
    return b_.CreateFPExt(b_.CreateBitCast(memory, half, "half"), single, "from.f16");
  }

  llvm::Value* BroadcastLhs(int row, llvm::Value* k) {
    llvm::Type* type = MemoryType(function_->getContext(), kernel_.lhs, 1);
    llvm::Value* offset = kernel_.unit_depth_stride ? k : b_.CreateMul(k, Arg(kDepthStride), "depth.offset");
    llvm::Value* address = b_.CreateInBoundsGEP(type, lhs_rows_[row], offset, "lhs.address");
    llvm::Value* scalar = b_.CreateAlignedLoad(type, address, llvm::Align(SizeOf(kernel_.lhs)), "lhs.scalar");
    return b_.CreateVectorSplat(kernel_.lanes, ToAccumulate(kernel_.lhs, scalar), "lhs.splat");
  }

  // The register of column group `column` among panels * pieces_.
  llvm::Value* LoadRhs(int column, llvm::Value* k) {
    llvm::Type* element = MemoryType(function_->getContext(), kernel_.rhs, 1);
    llvm::Type* type = MemoryType(function_->getContext(), kernel_.rhs, kernel_.lanes);
    llvm::Value* row = b_.CreateShl(k, b_.getInt64(4), "rhs.row", true, true);
    llvm::Value* offset = b_.CreateAdd(row, b_.getInt64(column % pieces_ * kernel_.lanes), "rhs.offset", true, true);
    llvm::Value* address = b_.CreateInBoundsGEP(element, rhs_panels_[column / pieces_], offset, "rhs.address");
    const llvm::Align align(kernel_.lanes * SizeOf(kernel_.rhs));
    return ToAccumulate(kernel_.rhs, b_.CreateAlignedLoad(type, address, align, "rhs.piece"));
  }

  // Asks for two lines of the panels that are to be read later, into L2.
  void EmitFetchAhead(llvm::Value* k) {
    constexpr int kRead = 0, kSecondLevel = 2, kData = 1, kLineBytes = 64;
    llvm::Value* offset = b_.CreateMul(k, b_.getInt64(2 * kLineBytes), "ahead.offset", true, true);
    llvm::Value* address = b_.CreateGEP(b_.getInt8Ty(), Arg(kAhead), offset, "ahead.address");
    for (int line = 0; line < 2; ++line) {
      llvm::Value* at = b_.CreateConstGEP1_64(b_.getInt8Ty(), address, line * kLineBytes, "ahead.line");
      b_.CreateIntrinsic(llvm::Intrinsic::prefetch, {b_.getPtrTy()},
                         {at, b_.getInt32(kRead), b_.getInt32(kSecondLevel), b_.getInt32(kData)});
    }
  }

  llvm::Value* MultiplyAdd(llvm::Value* x, llvm::Value* y, llvm::Value* sum) {
    if (!IsFloat(kernel_.accumulate)) return b_.CreateAdd(sum, b_.CreateMul(x, y, "product"), "sum.next");
    if (!target_.fma) return b_.CreateFAdd(sum, b_.CreateFMul(x, y, "product"), "sum.next");
    return b_.CreateIntrinsic(llvm::Intrinsic::fma, {vector_}, {x, y, sum}, nullptr, "sum.next");
  }

  // One k of every sum. Sums are numbered [row][panel][piece], as the tile is laid out. The side with fewer
  // registers is loaded first and kept, the other streams past it, which leaves the most room for sums.
  std::vector<llvm::Value*> EmitStep(llvm::Value* k, const std::vector<llvm::PHINode*>& sums) {
    const int columns = kernel_.panels * pieces_;
    const bool keep_rhs = columns < kernel_.rows;
    std::vector<llvm::Value*> kept;
    for (int i = 0; i < std::min(columns, kernel_.rows); ++i) {
      kept.push_back(keep_rhs ? LoadRhs(i, k) : BroadcastLhs(i, k));
    }
    std::vector<llvm::Value*> next(sums.size());
    for (int outer = 0; outer < std::max(columns, kernel_.rows); ++outer) {
      llvm::Value* passing = keep_rhs ? BroadcastLhs(outer, k) : LoadRhs(outer, k);
      for (size_t inner = 0; inner < kept.size(); ++inner) {
        const int i = keep_rhs ? outer * columns + inner : inner * columns + outer;
        next[i] = MultiplyAdd(kept[inner], passing, sums[i]);
      }
    }
    if (kernel_.fetch_ahead) EmitFetchAhead(k);
    return next;
  }

  const MicroKernel& kernel_;
  const EmitTarget& target_;
  llvm::Function* function_;
  llvm::IRBuilder<> b_;
  int pieces_;          // registers a panel's 16 columns fill
  llvm::Type* vector_;  // one such register
  std::vector<llvm::Value*> lhs_rows_, rhs_panels_;
};

}  // namespace

llvm::Function* EmitMicroKernel(const MicroKernel& kernel, const EmitTarget& target, llvm::StringRef name,
                                llvm::Module& module) {
  llvm::Function* function = DeclareMicroKernel(name, module);
  MicroKernelEmitter(kernel, target, function).Emit();
  return function;
}

}  // namespace tailor
