// Loads whose lanes are not contiguous but need no gather (docs/decisions/loads-follow-memory.md).
#include <algorithm>
#include <limits>

#include "codegen/ir/emit_loop.h"
#include "codegen/scalar/lane_division.h"
#include "codegen/scalar/scalar_emitter.h"
#include "llvm/IR/IntrinsicsX86.h"
#include "llvm/IR/MDBuilder.h"

namespace tailor {

llvm::Value* ScalarEmitter::EmitSteppedLoad(int buffer, const Address& address, llvm::Value* mask) {
  const llvm::Align align(SizeOf(plan_.buffers[buffer].dtype));
  llvm::Type* type = MemoryType(b_.getContext(), plan_.buffers[buffer].dtype, lanes_);
  const int64_t last = (lanes_ - 1) * address.step;
  // The lanes found in the vectors so far, in their positions.
  llvm::Value* all = llvm::PoisonValue::get(type);
  for (int64_t piece = 0, done = 0; done < lanes_; ++piece) {
    // The last vector ends at the last lane's element: the tensor may end there.
    const int64_t first = mask == nullptr ? std::min(piece * lanes_, last - (lanes_ - 1)) : piece * lanes_;
    llvm::SmallVector<int> chosen(lanes_, llvm::PoisonMaskElem);  // shuffle mask over `all` and this vector
    llvm::SmallVector<int> active(lanes_, lanes_);                // shuffle mask over the mask and zeros
    int64_t lane = 0;
    for (; lane < done; ++lane) chosen[lane] = static_cast<int>(lane);
    for (; lane < lanes_ && lane * address.step < first + lanes_; ++lane) {
      const int64_t element = lane * address.step - first;
      chosen[lane] = static_cast<int>(lanes_ + element);
      active[element] = static_cast<int>(lane);
    }
    if (lane == done) continue;  // no lane needs these elements
    done = lane;
    llvm::Value* pointer = ElementPointer(buffer, b_.CreateAdd(address.offset, b_.getInt64(first), "stepped.offset"));
    llvm::Instruction* load;
    if (mask == nullptr) {
      load = b_.CreateAlignedLoad(type, pointer, align, "stepped");
    } else {
      llvm::Value* none = llvm::Constant::getNullValue(mask->getType());
      llvm::Value* wanted = target_.avx512 ? EmitSteppedMask(mask, address.step, first)
                                           : b_.CreateShuffleVector(mask, none, active, "stepped.mask");
      load = b_.CreateMaskedLoad(type, pointer, align, wanted, llvm::Constant::getNullValue(type), "stepped");
    }
    all = b_.CreateShuffleVector(all, Tag(load, buffer), chosen, "stepped.lanes");
  }
  return all;
}

// One instruction (pdep) spreads the bits of a mask register; a shuffle would convert to vectors and back.
llvm::Value* ScalarEmitter::EmitSteppedMask(llvm::Value* mask, int64_t step, int64_t first) {
  uint64_t places = 0;
  for (int lane = 0; lane < lanes_; ++lane) places |= uint64_t{1} << (lane * step);
  llvm::Type* bits = b_.getIntNTy(lanes_);
  llvm::Value* wide = b_.CreateZExt(b_.CreateBitCast(mask, bits), b_.getInt64Ty());
  llvm::Value* apart = b_.CreateIntrinsic(llvm::Intrinsic::x86_bmi_pdep_64, {}, {wide, b_.getInt64(places)});
  llvm::Value* piece = b_.CreateTrunc(b_.CreateLShr(apart, b_.getInt64(first)), bits);
  return b_.CreateBitCast(piece, mask->getType(), "stepped.mask");
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
    llvm::Value* dim_size = frame_.DimSizeValue(b_, plan_.buffers[load.ref].dims[d]);
    offset = b_.CreateAdd(b_.CreateMul(offset, dim_size), index, "offset");
  }
  return offset;
}

llvm::Value* ScalarEmitter::EmitMaybeBroadcast(const Expr& e) {
  if (no_broadcast_ || !LanesAreInRow(e)) return nullptr;
  const Expr& last = plan_.exprs[e.args.back()];
  if (last.kind != ExprKind::kBcastIndex || LaneCoefficient(last.args[0]) != 1) return nullptr;
  llvm::Value* present = b_.CreateICmpNE(frame_.DimSizeValue(b_, last.dim_size), b_.getInt64(1), "present");
  llvm::Value* index = b_.CreateSelect(present, EmitFirst(last.args[0]), b_.getInt64(0), "bcast.index");
  llvm::Value* pointer = ElementPointer(e.ref, EmitRowOffset(e, index));
  // A mask always includes the first lane: it excludes only trailing lanes.
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
  llvm::Value* left = b_.CreateSub(length, first, "wrapped.left");
  const auto emit_one = [&] { return EmitRun(e.ref, b_.CreateAdd(row, first, "offset"), lanes_, mask_); };
  const auto emit_two = [&] {  // the end of the row, and its start
    llvm::Value* ends = b_.CreateICmpULT(LanesFrom(b_.getInt64(0)), ToLanes(left), "wrapped.end");
    const auto masked = [&](llvm::Value* mask) { return mask_ ? b_.CreateAnd(mask, mask_) : mask; };
    llvm::Value* end = EmitRun(e.ref, b_.CreateAdd(row, first, "offset"), lanes_, masked(ends));
    llvm::Value* start = EmitRun(e.ref, b_.CreateSub(row, left, "offset"), lanes_, masked(b_.CreateNot(ends)));
    return b_.CreateSelect(ends, end, start, "wrapped.both");
  };
  llvm::Value* lanes = b_.getInt64(lanes_);
  return EmitRunOrGather(
      e, b_.CreateICmpUGE(length, lanes, "wrapped.once"),
      [&] { return EmitChoice(b_, b_.CreateICmpUGE(left, lanes), "is.one", emit_one, emit_two); },
      [&] {
        llvm::Value* places = DivideLanes(b_, LanesFrom(first), length).rest;
        return b_.CreateAdd(ToLanes(row), places, "offset");
      });
}

llvm::Value* ScalarEmitter::EmitRepeatedLoad(const Expr& e) {
  if (!LanesAreInRow(e)) return nullptr;
  const Expr& last = plan_.exprs[e.args.back()];
  const int times = LaneDivisor(last);
  if (last.kind != ExprKind::kIndexFloorDiv || times < 1 || lanes_ % times != 0) return nullptr;
  const int elements = lanes_ / times;
  llvm::Value* first = EmitFirst(last.args[0]);
  llvm::Value* row = EmitRowOffset(e, b_.getInt64(0));
  llvm::Value* is_whole = b_.CreateICmpEQ(b_.CreateURem(first, b_.getInt64(times)), b_.getInt64(0), "repeated.whole");
  return EmitRunOrGather(
      e, is_whole,
      [&] {
        llvm::SmallVector<int> firsts(elements), lanes(lanes_);
        for (int i = 0; i < elements; ++i) firsts[i] = i * times;
        for (int i = 0; i < lanes_; ++i) lanes[i] = i / times;
        llvm::Value* mask = mask_ == nullptr ? nullptr : b_.CreateShuffleVector(mask_, firsts, "repeated.mask");
        llvm::Value* offset = b_.CreateAdd(row, b_.CreateUDiv(first, b_.getInt64(times)), "offset");
        return b_.CreateShuffleVector(EmitRun(e.ref, offset, elements, mask), lanes, "repeated");
      },
      [&] {
        llvm::Value* places = b_.CreateUDiv(LanesFrom(first), ToLanes(b_.getInt64(times)));
        return b_.CreateAdd(ToLanes(row), places, "offset");
      });
}

llvm::Value* ScalarEmitter::EmitPermutation(llvm::Value* lanes, llvm::Value* index) {
  const llvm::Intrinsic::ID permute =
      lanes_ == 8 ? llvm::Intrinsic::x86_avx2_permd : llvm::Intrinsic::x86_avx512_permvar_si_512;
  return b_.CreateIntrinsic(permute, {}, {lanes, index}, nullptr, "permuted");
}

llvm::Constant* ScalarEmitter::LaneNumbers() {
  llvm::SmallVector<llvm::Constant*, 16> numbers;
  for (int lane = 0; lane < lanes_; ++lane) numbers.push_back(b_.getInt32(lane));
  return llvm::ConstantVector::get(numbers);
}

llvm::Value* ScalarEmitter::EmitElementsRead(llvm::Value* lanes, llvm::Value* phase, int times) {
  llvm::Type* words = lanes->getType();
  llvm::Value* first = b_.CreateSub(b_.CreateMul(LaneNumbers(), llvm::ConstantInt::get(words, times)), phase);
  llvm::Value* elements = llvm::Constant::getNullValue(words);
  for (int i = 0; i < times; ++i) {
    llvm::Value* reader = b_.CreateAdd(first, llvm::ConstantInt::get(words, i), "reader");
    llvm::Value* exists = b_.CreateSExt(b_.CreateICmpULT(reader, llvm::ConstantInt::get(words, lanes_)), words);
    elements = b_.CreateOr(elements, b_.CreateAnd(exists, EmitPermutation(lanes, reader)), "repeated.elements");
  }
  return elements;
}

// Such as a padded image that is enlarged to its nearest neighbours. Lane l reads element (u + l) / times; where the
// predicate excludes leading lanes, u is negative, above -lanes if any lane reads. All but the load is the same in all
// rows that have the same predicate of lanes.
llvm::Value* ScalarEmitter::EmitPredicatedRepeatedLoad(const Expr& e) {
  constexpr int kMostTimes = 8;
  const Buffer& buffer = plan_.buffers[e.ref];
  const bool permutes = (lanes_ == 8 && target_.avx2) || (lanes_ == 16 && target_.avx512);
  if (!permutes || e.predicate < 0 || e.args.empty() || SizeOf(buffer.dtype) != 4) return nullptr;
  if (buffer.layout != ConstantLayout::kRowMajor) return nullptr;
  if (std::any_of(e.args.begin(), e.args.end() - 1, [&](ExprId id) { return VariesByLane(id); })) return nullptr;
  const Expr& last = plan_.exprs[e.args.back()];
  const int times = LaneDivisor(last);
  if (last.kind != ExprKind::kIndexFloorDiv || times < 2 || times > kMostTimes) return nullptr;

  llvm::Value* first = EmitFirst(last.args[0]);
  first = b_.CreateBinaryIntrinsic(llvm::Intrinsic::smax, first, b_.getInt64(-int64_t{lanes_}));  // near the buffer
  first = b_.CreateAdd(first, b_.getInt64(int64_t{times} * lanes_), "repeated.first");
  llvm::Value* start = b_.CreateSub(b_.CreateUDiv(first, b_.getInt64(times)), b_.getInt64(lanes_), "repeated.start");
  llvm::Value* phase = b_.CreateTrunc(b_.CreateURem(first, b_.getInt64(times)), b_.getInt32Ty(), "repeated.phase");
  phase = b_.CreateVectorSplat(lanes_, phase);

  llvm::Type* words = llvm::FixedVectorType::get(b_.getInt32Ty(), lanes_);
  llvm::Value *in_lanes = EmitLanePart(e.predicate), *all = EmitUniformPart(e.predicate);
  llvm::Value* wanted = in_lanes == nullptr ? mask_ : mask_ == nullptr ? in_lanes : b_.CreateAnd(mask_, in_lanes);
  llvm::Value* lanes = b_.CreateSExt(wanted == nullptr ? AllLanes() : wanted, words, "repeated.lanes");
  llvm::Value* elements = EmitElementsRead(lanes, phase, times);
  llvm::Value* row = EmitRowOffset(e, b_.getInt64(0));
  if (all != nullptr) {
    llvm::Value* all_words = b_.CreateVectorSplat(lanes_, b_.CreateSExt(all, b_.getInt32Ty()));
    elements = b_.CreateAnd(elements, all_words);
    lanes = b_.CreateAnd(lanes, all_words);
    row = b_.CreateSelect(all, row, b_.getInt64(0), "row.if_wanted");  // as OffsetIfRead
  }
  llvm::Value* are_read = b_.CreateICmpSLT(elements, llvm::Constant::getNullValue(words));
  llvm::Value* loaded = EmitRun(e.ref, b_.CreateAdd(row, start, "offset"), lanes_, are_read);
  llvm::Value* places = b_.CreateUDiv(b_.CreateAdd(LaneNumbers(), phase), llvm::ConstantInt::get(words, times));
  llvm::Value* repeated = b_.CreateAnd(EmitPermutation(b_.CreateBitCast(loaded, words), places), lanes, "repeated");
  return FromMemory(b_, buffer.dtype, b_.CreateBitCast(repeated, MemoryType(b_.getContext(), buffer.dtype, lanes_)));
}

// The constant dim size that `e` divides by; 0 if it is no such division of an index whose neighbours differ by 1.
int ScalarEmitter::LaneDivisor(const Expr& e) const {
  if (e.kind != ExprKind::kIndexFloorDiv && e.kind != ExprKind::kIndexMod) return 0;
  const Expr& divisor = plan_.exprs[e.args[1]];
  if (divisor.kind != ExprKind::kDimSize || !divisor.dim_size.is_constant()) return 0;
  if (LaneCoefficient(e.args[0]) != 1) return 0;
  return static_cast<int>(std::clamp<int64_t>(divisor.dim_size.constant, 0, std::numeric_limits<int>::max()));
}

// Lane l reads element (u + l) / rows of row (u + l) % rows: the lanes l, l + rows, ... are a run. Where a predicate
// excludes leading lanes, u is negative, above -lanes if any lane reads.
llvm::Value* ScalarEmitter::EmitInterleavedLoad(const Expr& e) {
  constexpr int kMostRows = 8;
  const Buffer& buffer = plan_.buffers[e.ref];
  if (lanes_ == 1 || buffer.layout != ConstantLayout::kRowMajor) return nullptr;
  const Expr *row = nullptr, *element = nullptr;
  for (ExprId index : e.args) {
    if (!VariesByLane(index)) continue;
    const Expr*& place = plan_.exprs[index].kind == ExprKind::kIndexMod ? row : element;
    if (place != nullptr || LaneDivisor(plan_.exprs[index]) == 0) return nullptr;
    place = &plan_.exprs[index];
  }
  if (row == nullptr || element == nullptr || element != &plan_.exprs[e.args.back()]) return nullptr;
  const int rows = LaneDivisor(*row);
  if (rows != LaneDivisor(*element) || row->args[0] != element->args[0]) return nullptr;
  if (rows < 2 || rows > std::min(kMostRows, lanes_ / 2)) return nullptr;

  llvm::Value *count = b_.getInt64(rows), *wanted = EmitAccessMask(e);
  llvm::Value* any_wanted = e.predicate >= 0 ? EmitUniformPart(e.predicate) : nullptr;
  llvm::Value* first = EmitFirst(row->args[0]);
  first = b_.CreateBinaryIntrinsic(llvm::Intrinsic::smax, first, b_.getInt64(-int64_t{lanes_}));  // near the buffer
  first = b_.CreateAdd(first, b_.getInt64(rows * lanes_), "interleaved.first");
  llvm::Value* first_row = b_.CreateURem(first, count);
  llvm::Value* first_element = b_.CreateSub(b_.CreateUDiv(first, count), b_.getInt64(lanes_));
  llvm::Value* all = llvm::PoisonValue::get(MemoryType(b_.getContext(), buffer.dtype, lanes_));
  for (int run = 0; run < rows; ++run) {
    const int elements = (lanes_ - run + rows - 1) / rows;
    llvm::SmallVector<int> lanes(elements), widened(lanes_, llvm::PoisonMaskElem), chosen(lanes_);
    for (int lane = 0; lane < lanes_; ++lane) chosen[lane] = lane;
    for (int i = 0; i < elements; ++i) {
      lanes[i] = run + i * rows;
      widened[i] = i;
      chosen[lanes[i]] = lanes_ + i;
    }
    llvm::Value* place = b_.CreateAdd(first_row, b_.getInt64(run), "run.row");
    llvm::Value* wraps = b_.CreateICmpUGE(place, count, "run.wraps");
    place = b_.CreateSelect(wraps, b_.CreateSub(place, count), place);
    llvm::Value* start = b_.CreateAdd(first_element, b_.CreateZExt(wraps, b_.getInt64Ty()), "run.element");
    llvm::Value* offset = b_.getInt64(0);
    for (size_t d = 0; d < e.args.size(); ++d) {
      const Expr* index = &plan_.exprs[e.args[d]];
      llvm::Value* value = index == row ? place : index == element ? start : Emit(e.args[d]);
      offset = b_.CreateAdd(b_.CreateMul(offset, frame_.DimSizeValue(b_, buffer.dims[d])), value, "offset");
    }
    // As for OffsetIfRead: no lane of the start of the buffer is read.
    if (any_wanted != nullptr) offset = b_.CreateSelect(any_wanted, offset, b_.getInt64(0), "offset.if_wanted");
    llvm::Value* mask = wanted == nullptr ? nullptr : b_.CreateShuffleVector(wanted, lanes, "run.mask");
    llvm::Value* loaded = EmitRun(e.ref, offset, elements, mask);
    all = b_.CreateShuffleVector(all, b_.CreateShuffleVector(loaded, widened), chosen, "interleaved");
  }
  return FromMemory(b_, buffer.dtype, all);
}

llvm::Value* ScalarEmitter::LanesFrom(llvm::Value* first) {
  llvm::SmallVector<llvm::Constant*, 16> steps;
  for (int i = 0; i < lanes_; ++i) steps.push_back(b_.getInt64(i));
  return b_.CreateAdd(ToLanes(first), llvm::ConstantVector::get(steps));
}

llvm::Value* ScalarEmitter::EmitRun(int buffer, llvm::Value* offset, int elements, llvm::Value* mask) {
  const DType dtype = plan_.buffers[buffer].dtype;
  const llvm::Align align(SizeOf(dtype));
  llvm::Type* type = llvm::FixedVectorType::get(MemoryType(b_.getContext(), dtype, 1), elements);
  llvm::Value* pointer = ElementPointer(buffer, offset);
  if (mask == nullptr) return Tag(b_.CreateAlignedLoad(type, pointer, align, "run"), buffer);
  return Tag(b_.CreateMaskedLoad(type, pointer, align, mask, llvm::Constant::getNullValue(type), "run"), buffer);
}

llvm::Value* ScalarEmitter::EmitRunOrGather(const Expr& e, llvm::Value* is_run,
                                            llvm::function_ref<llvm::Value*()> emit_run,
                                            llvm::function_ref<llvm::Value*()> emit_offsets) {
  const DType dtype = plan_.buffers[e.ref].dtype;
  const auto emit_gather = [&]() -> llvm::Value* {
    llvm::Type* type = MemoryType(b_.getContext(), dtype, lanes_);
    llvm::Value* pointers = ElementPointer(e.ref, emit_offsets());
    llvm::Instruction* gathered =
        b_.CreateMaskedGather(type, pointers, llvm::Align(SizeOf(dtype)), mask_ ? mask_ : AllLanes(),
                              llvm::Constant::getNullValue(type), "gathered");
    return Tag(gathered, e.ref);
  };
  llvm::MDNode* likely = llvm::MDBuilder(b_.getContext()).createLikelyBranchWeights();
  return FromMemory(b_, dtype, EmitChoice(b_, is_run, "is.run", emit_run, emit_gather, likely));
}

}  // namespace tailor
