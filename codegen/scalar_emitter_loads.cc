// Loads whose lanes neither lie side by side nor have to be gathered (docs/decisions/loads-follow-memory.md).
#include <algorithm>

#include "codegen/scalar_emitter.h"

namespace tailor {

llvm::Value* ScalarEmitter::EmitSteppedLoad(int buffer, const Address& address, llvm::Value* mask) {
  const llvm::Align align(SizeOf(plan_.buffers[buffer].dtype));
  llvm::Type* type = MemoryType(b_.getContext(), plan_.buffers[buffer].dtype, lanes_);
  const int64_t last = (lanes_ - 1) * address.step;
  // What the vectors so far have of the lanes, at their places.
  llvm::Value* all = llvm::PoisonValue::get(type);
  for (int64_t piece = 0, done = 0; done < lanes_; ++piece) {
    // The last vector ends with the last lane's element: beyond it the tensor may end.
    const int64_t first = mask == nullptr ? std::min(piece * lanes_, last - (lanes_ - 1)) : piece * lanes_;
    llvm::SmallVector<int> chosen(lanes_, llvm::PoisonMaskElem);  // of `all` and this vector, one after the other
    llvm::SmallVector<int> active(lanes_, lanes_);                // of the mask and zeros
    int64_t lane = 0;
    for (; lane < done; ++lane) chosen[lane] = static_cast<int>(lane);
    for (; lane < lanes_ && lane * address.step < first + lanes_; ++lane) {
      const int64_t element = lane * address.step - first;
      chosen[lane] = static_cast<int>(lanes_ + element);
      active[element] = static_cast<int>(lane);
    }
    if (lane == done) continue;  // none of these elements is wanted
    done = lane;
    llvm::Value* pointer = ElementPointer(buffer, b_.CreateAdd(address.offset, b_.getInt64(first), "stepped.offset"));
    llvm::Instruction* load;
    if (mask == nullptr) {
      load = b_.CreateAlignedLoad(type, pointer, align, "stepped");
    } else {
      llvm::Value* none = llvm::Constant::getNullValue(mask->getType());
      load = b_.CreateMaskedLoad(type, pointer, align, b_.CreateShuffleVector(mask, none, active, "stepped.mask"),
                                 llvm::Constant::getNullValue(type), "stepped");
    }
    all = b_.CreateShuffleVector(all, Tag(load, buffer), chosen, "stepped.lanes");
  }
  return all;
}

bool ScalarEmitter::LanesAreInRow(const Expr& load) const {
  if (lanes_ == 1 || load.predicate >= 0 || load.args.empty()) return false;
  return plan_.buffers[load.ref].layout == ConstantLayout::kRowMajor &&
         std::none_of(load.args.begin(), load.args.end() - 1, [&](ExprId id) { return VariesByLane(id); });
}

llvm::Value* ScalarEmitter::EmitRowOffset(const Expr& load, llvm::Value* last) {
  llvm::Value* offset = b_.getInt64(0);
  for (size_t d = 0; d < load.args.size(); ++d) {
    llvm::Value* index = d + 1 < load.args.size() ? Emit(load.args[d]) : last;
    llvm::Value* extent = frame_.ExtentValue(b_, plan_.buffers[load.ref].dims[d]);
    offset = b_.CreateAdd(b_.CreateMul(offset, extent), index, "offset");
  }
  return offset;
}

llvm::Value* ScalarEmitter::EmitPerhapsBroadcast(const Expr& e) {
  if (no_broadcast_ || !LanesAreInRow(e)) return nullptr;
  const Expr& last = plan_.exprs[e.args.back()];
  if (last.kind != ExprKind::kBcastIndex || LaneCoefficient(last.args[0]) != 1) return nullptr;
  llvm::Value* present = b_.CreateICmpNE(frame_.ExtentValue(b_, last.extent), b_.getInt64(1), "present");
  llvm::Value* index = b_.CreateSelect(present, EmitFirst(last.args[0]), b_.getInt64(0), "bcast.index");
  llvm::Value* pointer = ElementPointer(e.ref, EmitRowOffset(e, index));
  // A mask has its first lane always: it cuts off the last ones.
  llvm::SmallVector<llvm::Constant*, 16> first_alone(lanes_, b_.getFalse());
  first_alone[0] = b_.getTrue();
  llvm::Value* wanted = b_.CreateSelect(present, mask_ ? mask_ : AllLanes(), llvm::ConstantVector::get(first_alone));
  const DType dtype = plan_.buffers[e.ref].dtype;
  llvm::Type* type = MemoryType(b_.getContext(), dtype, lanes_);
  llvm::Instruction* load = b_.CreateMaskedLoad(type, pointer, llvm::Align(SizeOf(dtype)), wanted,
                                                llvm::Constant::getNullValue(type), "perhaps");
  llvm::Value* loaded = Tag(load, e.ref);
  llvm::Value* repeated = b_.CreateShuffleVector(loaded, llvm::SmallVector<int>(lanes_, 0), "repeated");
  return FromMemory(b_, dtype, b_.CreateSelect(present, loaded, repeated, "perhaps.broadcast"));
}

llvm::Value* ScalarEmitter::EmitWrappedLoad(const Expr& e) {
  if (!LanesAreInRow(e)) return nullptr;
  const Expr& last = plan_.exprs[e.args.back()];
  if (last.kind != ExprKind::kIndexMod || VariesByLane(last.args[1]) || LaneCoefficient(last.args[0]) != 1) {
    return nullptr;
  }
  llvm::Value* length = b_.CreateBinaryIntrinsic(llvm::Intrinsic::umax, Emit(last.args[1]), b_.getInt64(1));
  llvm::Value* first = b_.CreateURem(EmitFirst(last.args[0]), length, "wrapped.first");
  llvm::Value* row = EmitRowOffset(e, b_.getInt64(0));
  const DType dtype = plan_.buffers[e.ref].dtype;
  const llvm::Align align(SizeOf(dtype));
  llvm::Type* type = MemoryType(b_.getContext(), dtype, lanes_);
  llvm::Value* none = llvm::Constant::getNullValue(type);

  llvm::LLVMContext& context = b_.getContext();
  llvm::Function* function = b_.GetInsertBlock()->getParent();
  auto* run = llvm::BasicBlock::Create(context, "wrapped.run", function);
  auto* begins = llvm::BasicBlock::Create(context, "wrapped.begins", function);
  auto* after = llvm::BasicBlock::Create(context, "wrapped.done", function);
  b_.CreateCondBr(b_.CreateICmpULE(b_.CreateAdd(first, b_.getInt64(lanes_)), length, "wrapped.not"), run, begins);

  b_.SetInsertPoint(run);
  llvm::Value* pointer = ElementPointer(e.ref, b_.CreateAdd(row, first, "offset"));
  llvm::Instruction* side_by_side =
      mask_ ? llvm::cast<llvm::Instruction>(b_.CreateMaskedLoad(type, pointer, align, mask_, none, "wrapped"))
            : b_.CreateAlignedLoad(type, pointer, align, "wrapped");
  Tag(side_by_side, e.ref);
  b_.CreateBr(after);

  b_.SetInsertPoint(begins);
  llvm::SmallVector<llvm::Constant*, 16> steps;
  for (int i = 0; i < lanes_; ++i) steps.push_back(b_.getInt64(i));
  llvm::Value* places = b_.CreateURem(b_.CreateAdd(ToLanes(first), llvm::ConstantVector::get(steps)), ToLanes(length));
  llvm::Value* pointers = ElementPointer(e.ref, b_.CreateAdd(ToLanes(row), places, "offset"));
  llvm::Instruction* gathered =
      b_.CreateMaskedGather(type, pointers, align, mask_ ? mask_ : AllLanes(), none, "gathered");
  Tag(gathered, e.ref);
  b_.CreateBr(after);

  b_.SetInsertPoint(after);
  llvm::PHINode* loaded = b_.CreatePHI(type, 2, "wrapped");
  loaded->addIncoming(side_by_side, run);
  loaded->addIncoming(gathered, begins);
  return FromMemory(b_, dtype, loaded);
}

}  // namespace tailor
