#include "codegen/scalar/scalar_emitter.h"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <cstdlib>
#include <numeric>

#include "codegen/contract/panels.h"
#include "codegen/ir/emit_loop.h"
#include "codegen/ir/masked_store.h"
#include "codegen/math/functions.h"
#include "codegen/scalar/lane_division.h"
#include "llvm/Analysis/VectorUtils.h"
#include "llvm/IR/InlineAsm.h"
#include "llvm/IR/MDBuilder.h"
#include "llvm/IR/Module.h"

namespace tailor {
namespace {

bool IsPowerOfTwo(const llvm::Value* value) {
  const auto* constant = llvm::dyn_cast<llvm::ConstantInt>(value);
  return constant != nullptr && constant->getValue().isPowerOf2();
}

// Index arithmetic on two scalars or two vectors of equal length.
llvm::Value* CreateIndexOp(llvm::IRBuilderBase& b, ExprKind kind, llvm::Value* lhs, llvm::Value* rhs) {
  switch (kind) {
    case ExprKind::kIndexAdd:
      return b.CreateAdd(lhs, rhs, "index");
    case ExprKind::kIndexSub:
      return b.CreateSub(lhs, rhs, "index");
    case ExprKind::kIndexMul:
      return b.CreateMul(lhs, rhs, "index");
    case ExprKind::kIndexFloorDiv:
      return b.CreateUDiv(lhs, rhs, "index");
    case ExprKind::kIndexMod:
      return b.CreateURem(lhs, rhs, "index");
    default:
      assert(kind == ExprKind::kIndexLess && "no index arithmetic");
      return b.CreateICmpSLT(lhs, rhs, "below");
  }
}

}  // namespace

void ScalarEmitter::Forget() {
  memo_.clear();
  first_memo_.clear();
}

void ScalarEmitter::SetAxis(int axis, llvm::Value* index) {
  axes_[axis] = index;
  sources_.clear();
  Forget();
}

void ScalarEmitter::SetIndex(ExprId id, llvm::Value* value) {
  if (value != nullptr) {
    indices_[id] = value;
  } else {
    indices_.erase(id);
  }
  Forget();
}

void ScalarEmitter::SetLanes(int axis, llvm::Value* first, int lanes, llvm::Value* mask, bool at_multiples) {
  axes_[axis] = first;
  // With at_multiples, what depends on lanes depends on their number (ComparesWithMultiple).
  const bool compares_alike = at_multiples == at_multiples_ && (lanes == lanes_ || !at_multiples);
  if (lane_axis_ != axis || !compares_alike) lane_dependence_.clear();
  at_multiples_ = at_multiples;
  lane_axis_ = axis;
  lanes_ = lanes;
  mask_ = mask;
  Forget();
}

void ScalarEmitter::SetLocal(int buffer, llvm::Value* value) {
  locals_[buffer] = value;
  Forget();
}

bool ScalarEmitter::DependsOnLane(ExprId id) const {
  const Expr& e = plan_.exprs[id];
  if (e.kind == ExprKind::kAxis) return e.ref == lane_axis_;
  if (e.kind == ExprKind::kLiteral || e.kind == ExprKind::kDimSize || e.kind == ExprKind::kParameter) return false;
  if (e.kind == ExprKind::kLoad && plan_.buffers[e.ref].kind == BufferKind::kLocal) {
    auto it = locals_.find(e.ref);
    return it != locals_.end() && it->second->getType()->isVectorTy();
  }
  if (e.kind == ExprKind::kLoad && IsHeld(e.ref)) return true;
  if (auto it = lane_dependence_.find(id); it != lane_dependence_.end()) return it->second;
  bool depends = e.predicate >= 0 && DependsOnLane(e.predicate);
  for (ExprId arg : e.args) depends = depends || DependsOnLane(arg);
  depends = depends && !ComparesWithMultiple(e);
  lane_dependence_[id] = depends;
  return depends;
}

// Whether `e` compares the lanes' axis with a multiple of the lanes, and all lanes are on one side of it.
bool ScalarEmitter::ComparesWithMultiple(const Expr& e) const {
  if (!at_multiples_ || lanes_ == 1 || e.kind != ExprKind::kIndexLess) return false;
  const Expr& index = plan_.exprs[e.args[0]];
  const std::optional<int64_t> bound = ConstantIndex(plan_, e.args[1]);
  return index.kind == ExprKind::kAxis && index.ref == lane_axis_ && bound && *bound % lanes_ == 0;
}

std::optional<int64_t> ScalarEmitter::LaneCoefficient(ExprId id) const {
  return ConstantStep(plan_, id, [this](ExprId e) { return VariesByLane(e); }, {.no_broadcast = no_broadcast_});
}

llvm::Value* ScalarEmitter::EmitStride(const AccessMap& map, int buffer, const char* name) {
  const std::vector<DimSize>& dims = plan_.buffers[buffer].dims;
  llvm::Value* sum = b_.getInt64(0);
  llvm::Value* stride = b_.getInt64(1);
  for (size_t d = dims.size(); d-- > 0;) {
    sum = b_.CreateAdd(sum, b_.CreateMul(Emit(map.steps()[d].expr), stride), name);
    stride = b_.CreateMul(stride, frame_.DimSizeValue(b_, dims[d]), "stride");
  }
  return sum;
}

llvm::Value* ScalarEmitter::ToLanes(llvm::Value* value) {
  if (lanes_ == 1 || value->getType()->isVectorTy()) return value;
  return b_.CreateVectorSplat(lanes_, value, "splat");
}

llvm::Value* ScalarEmitter::AllLanes() {
  return llvm::ConstantInt::getTrue(llvm::FixedVectorType::get(b_.getInt1Ty(), lanes_));
}

llvm::Instruction* ScalarEmitter::Tag(llvm::Instruction* access, int buffer) {
  access->setMetadata(llvm::LLVMContext::MD_alias_scope, frame_.alias_scope[buffer]);
  access->setMetadata(llvm::LLVMContext::MD_noalias, frame_.noalias[buffer]);
  return access;
}

llvm::Value* ScalarEmitter::EmitLanes(ExprId id) { return ToLanes(Emit(id)); }

llvm::Value* ScalarEmitter::Emit(ExprId id) {
  if (auto it = memo_.find(id); it != memo_.end()) return it->second;
  if (auto it = indices_.find(id); it != indices_.end()) return it->second;
  llvm::Value* value = EmitUncached(id);
  memo_[id] = value;
  return value;
}

llvm::Value* ScalarEmitter::EmitFirst(ExprId id) {
  if (!VariesByLane(id)) return Emit(id);
  if (auto it = first_memo_.find(id); it != first_memo_.end()) return it->second;
  const Expr& e = plan_.exprs[id];
  llvm::Value* value = nullptr;
  switch (e.kind) {
    case ExprKind::kAxis:
      value = axes_.at(e.ref);
      break;
    case ExprKind::kBcastIndex:
      value = EmitFirst(e.args[0]);
      break;
    default: {
      llvm::Value* lhs = EmitFirst(e.args[0]);
      value = CreateIndexOp(b_, e.kind, lhs, EmitFirst(e.args[1]));
    }
  }
  first_memo_[id] = value;
  return value;
}

llvm::Value* ScalarEmitter::EmitIndexOp(const Expr& e) {
  if (ComparesWithMultiple(e)) return CreateIndexOp(b_, e.kind, EmitFirst(e.args[0]), EmitFirst(e.args[1]));
  if (llvm::Value* lanes = EmitPrefixMask(e)) return lanes;
  llvm::Value* lhs = Emit(e.args[0]);
  llvm::Value* rhs = Emit(e.args[1]);
  // With an empty operand (pad, concat) an unused index into it is still computed: avoids division by zero.
  const bool divides = e.kind == ExprKind::kIndexFloorDiv || e.kind == ExprKind::kIndexMod;
  if (divides && !llvm::isa<llvm::ConstantInt>(rhs)) {
    rhs = b_.CreateBinaryIntrinsic(llvm::Intrinsic::umax, rhs, b_.getInt64(1), nullptr, "divisor");
  }
  if (divides && lhs->getType()->isVectorTy() && !rhs->getType()->isVectorTy() && !IsPowerOfTwo(rhs)) {
    const DividedLanes divided = DivideLanes(b_, lhs, rhs);
    return e.kind == ExprKind::kIndexFloorDiv ? divided.quotient : divided.rest;
  }
  if (lhs->getType()->isVectorTy() || rhs->getType()->isVectorTy()) {
    lhs = ToLanes(lhs);
    rhs = ToLanes(rhs);
  }
  return CreateIndexOp(b_, e.kind, lhs, rhs);
}

// If the two sides differ by a linear function of the lane, the comparison holds for a prefix or a suffix of lanes. The
// mask is computed from a count, since i64 index lanes would fill two registers and need two comparisons.
llvm::Value* ScalarEmitter::EmitPrefixMask(const Expr& e) {
  if (e.kind != ExprKind::kIndexLess || !(VariesByLane(e.args[0]) || VariesByLane(e.args[1]))) return nullptr;
  const auto lhs = LaneCoefficient(e.args[0]), rhs = LaneCoefficient(e.args[1]);
  if (!lhs || !rhs || *lhs == *rhs) return nullptr;
  const int64_t step = *lhs - *rhs;
  llvm::Value* gap = b_.CreateSub(EmitFirst(e.args[1]), EmitFirst(e.args[0]), "gap");  // below: step * lane < gap
  // The result is true in lanes [0, ceil(gap / step)), or from lane floor(-gap / -step) + 1 on.
  const int64_t size = std::abs(step);
  llvm::Value* reach = step > 0 ? b_.CreateAdd(gap, b_.getInt64(size - 1)) : b_.CreateSub(b_.getInt64(size), gap);
  reach = b_.CreateBinaryIntrinsic(llvm::Intrinsic::smax, reach, b_.getInt64(0));
  llvm::Value* count = b_.CreateUDiv(reach, b_.getInt64(size));
  count = b_.CreateBinaryIntrinsic(llvm::Intrinsic::umin, count, b_.getInt64(lanes_), nullptr, "lanes.below");
  llvm::Value* first = EmitFirstLanes(b_, lanes_, count);
  return step > 0 ? first : b_.CreateNot(first, "lanes.from");
}

llvm::Value* ScalarEmitter::EmitIdiom(const Expr& e) {
  if (target_.avx2) {
    if (const auto gelu = GeluOf(plan_, e)) {
      llvm::Value* x = Emit(gelu->x);
      const math::LaneMath m(b_, target_, x->getType());
      return gelu->op == OpKind::kErf ? math::GeluErf(m, x) : math::GeluTanh(m, x);
    }
    if (e.dtype == DType::kF32 && IsExpMinusMax(plan_, e)) {
      llvm::Value* below = Emit(e.args[0]);
      return math::ExpOfDifference(math::LaneMath(b_, target_, below->getType()), below);
    }
  }
  if (const auto requantized = RequantizedOf(plan_, e)) return EmitRequantized(*requantized);
  if (!IsSoftmaxNormalize(plan_, e)) return nullptr;
  llvm::Value* sum = Emit(e.args[1]);
  llvm::Value* inverse = b_.CreateFDiv(llvm::ConstantFP::get(sum->getType(), 1), sum, "inverse");
  llvm::Value* power = Emit(e.args[0]);
  return b_.CreateFMul(power, power->getType()->isVectorTy() ? ToLanes(inverse) : inverse, "share");
}

// As conversions saturate, NaN to 0, and integers subtract: a difference of 0 is positive.
llvm::Value* ScalarEmitter::EmitRequantized(const Requantized& r) {
  llvm::Value* value = Emit(r.value);
  const auto number = [&](double x) { return llvm::ConstantFP::get(value->getType(), x); };
  const int bits = 8 * SizeOf(r.type);
  const double least = IsSigned(r.type) ? -std::ldexp(1, bits - 1) : 0;
  const double most = std::ldexp(1, IsSigned(r.type) ? bits - 1 : bits) - 1;
  llvm::Value* low = b_.CreateSelect(b_.CreateFCmpOGT(value, number(least)), value, number(least), "requantized.low");
  llvm::Value* within = b_.CreateSelect(b_.CreateFCmpOLT(low, number(most)), low, number(most), "requantized.within");
  llvm::Value* known = b_.CreateSelect(b_.CreateFCmpORD(value, value), within, number(0), "requantized.known");
  llvm::Value* zero = r.zero < 0 ? number(0) : b_.CreateSIToFP(Emit(r.zero), b_.getFloatTy(), "zero.point");
  if (value->getType() != zero->getType()) zero = ToLanes(zero);
  return b_.CreateFAdd(known, b_.CreateFSub(number(0), zero), "requantized");
}

llvm::Value* ScalarEmitter::EmitUncached(ExprId id) {
  const Expr& e = plan_.exprs[id];
  switch (e.kind) {
    case ExprKind::kLiteral:
      return EmitLiteral(b_, e.dtype, e.bits, 1);
    case ExprKind::kAxis: {
      llvm::Value* first = axes_.at(e.ref);
      return e.ref == lane_axis_ && lanes_ > 1 ? LanesFrom(first) : first;
    }
    case ExprKind::kDimSize:
      return frame_.DimSizeValue(b_, e.dim_size);
    case ExprKind::kParameter: {
      llvm::Type* type = b_.getIntNTy(8 * SizeOf(e.dtype));
      llvm::Value* bits = b_.CreateTrunc(frame_.DimSizeValue(b_, e.dim_size), type, "parameter");
      return e.dtype == DType::kF32 ? b_.CreateBitCast(bits, b_.getFloatTy()) : bits;
    }
    case ExprKind::kBcastIndex: {
      llvm::Value* index = Emit(e.args[0]);
      if (no_broadcast_) return index;
      llvm::Value* present = b_.CreateICmpNE(frame_.DimSizeValue(b_, e.dim_size), b_.getInt64(1), "present");
      return b_.CreateSelect(present, index, llvm::Constant::getNullValue(index->getType()), "bcast.index");
    }
    case ExprKind::kGatherIndex:
      return EmitGatherIndex(e);
    case ExprKind::kLoad:
      return EmitLoad(e);
    case ExprKind::kOp: {
      if (llvm::Value* value = EmitIdiom(e)) return value;
      const bool is_padded = IsPadded(e);
      if (is_padded && plan_.exprs[e.args[2]].kind == ExprKind::kLiteral && plan_.exprs[e.args[2]].bits == 0) {
        return Emit(e.args[1]);
      }
      if (const auto source = sources_.find(id); source != sources_.end()) return EmitFromSource(source->second);
      if (ChoosesSource(e)) return EmitChosenSource(e);
      if (is_padded && lanes_ > 1 && VariesByLane(e.args[0])) {
        llvm::Value *loaded = Emit(e.args[1]), *otherwise = ToLanes(Emit(e.args[2]));
        return b_.CreateSelect(EmitAccessMask(plan_.exprs[e.args[1]]), ToLanes(loaded), otherwise, "padded");
      }
      std::vector<llvm::Value*> args;
      bool vector = false;
      for (ExprId arg : e.args) vector |= args.emplace_back(Emit(arg))->getType()->isVectorTy();
      if (vector) {
        for (llvm::Value*& arg : args) arg = ToLanes(arg);
      }
      const ExprId data = e.op == OpKind::kSelect ? e.args[1] : e.args[0];
      return EmitScalarOp(b_, target_, e.op, plan_.exprs[data].dtype, e.dtype, args);
    }
    default:
      return EmitIndexOp(e);
  }
}

// ---- Memory --------------------------------------------------------------------------------------

std::optional<int64_t> ScalarEmitter::LaneStep(const Buffer& buffer, const std::vector<ExprId>& indices) const {
  std::vector<std::optional<int64_t>> steps;
  for (ExprId index : indices) steps.push_back(LaneCoefficient(index));
  return ConstantStride(steps, buffer.dims);
}

ScalarEmitter::Address ScalarEmitter::EmitRowMajor(const Buffer& buffer, const std::vector<ExprId>& indices) {
  const std::optional<int64_t> step = LaneStep(buffer, indices);
  constexpr int64_t kMostStep = 4;  // limit for EmitSteppedLoad
  const bool scattered = !step || *step < -1 || *step > kMostStep;
  llvm::Value* offset = b_.getInt64(0);
  if (scattered) offset = ToLanes(offset);
  for (size_t d = 0; d < indices.size(); ++d) {
    llvm::Value* dim_size = frame_.DimSizeValue(b_, buffer.dims[d]);
    llvm::Value* index = scattered ? ToLanes(Emit(indices[d])) : EmitFirst(indices[d]);
    if (scattered) dim_size = ToLanes(dim_size);
    offset = d == 0 ? index : b_.CreateAdd(b_.CreateMul(offset, dim_size, "offset"), index, "offset");
  }
  if (scattered) return {offset, Pattern::kScattered};
  if (*step < 0) return {b_.CreateSub(offset, b_.getInt64(lanes_ - 1), "offset.last"), Pattern::kReversed};
  if (*step > 1) return {offset, Pattern::kStepped, *step};
  return {offset, *step == 0 ? Pattern::kUniform : Pattern::kContiguous, *step};
}

ScalarEmitter::Address ScalarEmitter::EmitPanels(const Buffer& buffer, const std::vector<ExprId>& indices) {
  const size_t rank = indices.size();
  bool varies = false;
  for (ExprId index : indices) varies = varies || VariesByLane(index);
  auto value = [&](llvm::Value* v) { return varies ? ToLanes(v) : v; };
  auto at = [&](size_t d) { return value(Emit(indices[d])); };
  const int steps = StepsPerWord(buffer.layout, buffer.dtype);
  llvm::Value* k_dim_size = frame_.DimSizeValue(b_, buffer.dims[rank - 2]);
  if (steps > 1) {
    k_dim_size = b_.CreateAnd(b_.CreateAdd(k_dim_size, b_.getInt64(steps - 1)), -int64_t{steps}, "word.rows");
  }
  llvm::Value* panels =
      b_.CreateLShr(b_.CreateAdd(frame_.DimSizeValue(b_, buffer.dims[rank - 1]), b_.getInt64(15)), 4, "panels");
  llvm::Value* batch = value(b_.getInt64(0));
  for (size_t d = 0; d + 2 < rank; ++d) {
    batch = b_.CreateAdd(b_.CreateMul(batch, value(frame_.DimSizeValue(b_, buffer.dims[d]))), at(d), "batch");
  }
  llvm::Value* n = at(rank - 1);
  llvm::Value* panel = b_.CreateAdd(b_.CreateMul(batch, value(panels)), b_.CreateLShr(n, 4), "panel");
  llvm::Value* k = at(rank - 2);
  llvm::Value* column = b_.CreateAnd(n, 15, "panel.column");
  if (steps > 1) {
    column = b_.CreateOr(b_.CreateShl(column, steps == 2 ? 1 : 2), b_.CreateAnd(k, steps - 1), "word.element");
    k = b_.CreateAnd(k, -int64_t{steps}, "word");
  }
  llvm::Value* row = b_.CreateAdd(b_.CreateMul(panel, value(k_dim_size)), k, "panel.row");
  llvm::Value* offset = b_.CreateAdd(b_.CreateShl(row, 4), column, "offset");
  return {offset, varies ? Pattern::kScattered : Pattern::kUniform};
}

ScalarEmitter::Address ScalarEmitter::EmitAddress(const Buffer& buffer, const std::vector<ExprId>& indices) {
  return buffer.layout == ConstantLayout::kRowMajor ? EmitRowMajor(buffer, indices) : EmitPanels(buffer, indices);
}

llvm::Value* ScalarEmitter::ElementPointer(int buffer, llvm::Value* offset) {
  llvm::Type* element = MemoryType(b_.getContext(), plan_.buffers[buffer].dtype, 1);
  return b_.CreateGEP(element, frame_.buffers[buffer], offset, "element");
}

llvm::Value* ScalarEmitter::InterleavedPointer(int buffer, const std::vector<ExprId>& indices) {
  assert(lanes_ == rows_held_ && "row buffers hold other lanes");
  const Address address = EmitRowMajor(plan_.buffers[buffer], indices);
  return ElementPointer(buffer, b_.CreateMul(address.offset, b_.getInt64(rows_held_), "held"));
}

llvm::Value* ScalarEmitter::AddressOf(int buffer, const std::vector<ExprId>& indices) {
  llvm::Value* address = AddressIfContiguous(buffer, indices);
  assert(address != nullptr && "lanes lie elsewhere");
  return address;
}

llvm::Value* ScalarEmitter::AddressIfContiguous(int buffer, const std::vector<ExprId>& indices) {
  const Address address = EmitAddress(plan_.buffers[buffer], indices);
  if (address.pattern != Pattern::kContiguous && lanes_ > 1) return nullptr;
  return ElementPointer(buffer, address.offset);
}

llvm::Align ScalarEmitter::VectorAlign(int buffer, const std::vector<ExprId>& indices) const {
  constexpr int64_t kWidest = 16;  // largest alignment in bytes that one access may need
  const int64_t bytes = SizeOf(plan_.buffers[buffer].dtype);
  const bool whole = are_whole_ != nullptr && are_whole_(buffer, indices);
  return llvm::Align(whole ? std::min(kWidest, bytes * lanes_) : bytes);
}

llvm::Value* ScalarEmitter::EmitGuardedScalarLoad(int buffer, llvm::Value* offset, llvm::Value* guard) {
  const DType dtype = plan_.buffers[buffer].dtype;
  auto* type = llvm::FixedVectorType::get(MemoryType(b_.getContext(), dtype, 1), 1);
  llvm::Value* load =
      b_.CreateMaskedLoad(type, ElementPointer(buffer, offset), llvm::Align(SizeOf(dtype)),
                          b_.CreateVectorSplat(1, guard), llvm::Constant::getNullValue(type), "guarded");
  Tag(llvm::cast<llvm::Instruction>(load), buffer);
  return FromMemory(b_, dtype, b_.CreateExtractElement(load, uint64_t{0}, "guarded.value"));
}

// The conjuncts of `predicate` that are the same in all lanes; null if there are none, or if they hold.
llvm::Value* ScalarEmitter::EmitUniformPart(ExprId predicate) {
  if (uniform_predicates_hold_) return nullptr;
  const Expr& e = plan_.exprs[predicate];
  if (e.kind == ExprKind::kOp && e.op == OpKind::kAnd) {
    llvm::Value *lhs = EmitUniformPart(e.args[0]), *rhs = EmitUniformPart(e.args[1]);
    return lhs != nullptr && rhs != nullptr ? b_.CreateAnd(lhs, rhs, "wanted") : lhs != nullptr ? lhs : rhs;
  }
  if (VariesByLane(predicate)) return nullptr;
  llvm::Value* value = Emit(predicate);
  const auto* known = llvm::dyn_cast<llvm::ConstantInt>(value);
  return known != nullptr && known->isOne() ? nullptr : value;
}

// The conjuncts of `predicate` that vary by lane; null if there are none.
llvm::Value* ScalarEmitter::EmitLanePart(ExprId predicate) {
  if (!VariesByLane(predicate)) return nullptr;
  const Expr& e = plan_.exprs[predicate];
  if (e.kind != ExprKind::kOp || e.op != OpKind::kAnd) return ToLanes(Emit(predicate));
  llvm::Value *lhs = EmitLanePart(e.args[0]), *rhs = EmitLanePart(e.args[1]);
  return lhs != nullptr && rhs != nullptr ? b_.CreateAnd(lhs, rhs, "wanted.lanes") : lhs != nullptr ? lhs : rhs;
}

// The conjuncts that vary by lane come first: where rows are read in turn, their mask is the same for all rows.
llvm::Value* ScalarEmitter::EmitAccessMask(const Expr& load) {
  llvm::Value* mask = mask_;
  if (load.predicate < 0) return mask;
  llvm::Value *lanes = EmitLanePart(load.predicate), *all = EmitUniformPart(load.predicate);
  if (lanes != nullptr) mask = mask == nullptr ? lanes : b_.CreateAnd(mask, lanes, "access.lanes");
  if (mask == nullptr) return all == nullptr ? nullptr : ToLanes(all);
  const int bits = 8 * SizeOf(plan_.buffers[load.ref].dtype);
  const bool are_registers = lanes_ * bits % 128 == 0;
  if (target_.avx2 && !target_.avx512 && bits >= 32 && are_registers) return EmitWordMask(mask, all, bits);
  return all == nullptr ? mask : b_.CreateAnd(mask, ToLanes(all), "access");
}

// mask && all (null: true), held in integers as wide as the elements, the form that masked loads and blends of AVX2
// read. An empty asm per register hides the comparison from LLVM. It would repeat the comparison in each loop, narrow
// eight lanes to i16, and, where half of a mask of two registers is known to be false, load that half without a mask.
llvm::Value* ScalarEmitter::EmitWordMask(llvm::Value* mask, llvm::Value* all, int bits) {
  llvm::Type* word = b_.getIntNTy(bits);
  llvm::Type* type = llvm::FixedVectorType::get(word, lanes_);
  llvm::Value* words = b_.CreateSExt(mask, type);
  const int in_register = std::min(lanes_, 256 / bits);
  llvm::Type* part = llvm::FixedVectorType::get(word, in_register);
  auto* opaque = llvm::InlineAsm::get(llvm::FunctionType::get(part, {part}, false), "", "=x,0", false);
  llvm::SmallVector<llvm::Value*> parts;
  for (int first = 0; first < lanes_; first += in_register) {
    llvm::SmallVector<int> lanes(in_register);
    std::iota(lanes.begin(), lanes.end(), first);
    llvm::Value* of_part = in_register == lanes_ ? words : b_.CreateShuffleVector(words, lanes);
    llvm::CallInst* hidden = b_.CreateCall(opaque, {of_part}, "access.words");
    hidden->setDoesNotAccessMemory();
    hidden->setDoesNotThrow();
    hidden->addFnAttr(llvm::Attribute::WillReturn);
    parts.push_back(hidden);
  }
  llvm::Value* wanted = parts.size() == 1 ? parts[0] : llvm::concatenateVectors(b_, parts);
  if (all != nullptr) wanted = b_.CreateAnd(wanted, ToLanes(b_.CreateSExt(all, word)), "access.if_all");
  return b_.CreateICmpSLT(wanted, llvm::Constant::getNullValue(type), "access");
}

bool ScalarEmitter::IsPadded(const Expr& e) const {
  if (e.op != OpKind::kSelect) return false;
  const Expr& load = plan_.exprs[e.args[1]];
  return load.kind == ExprKind::kLoad && load.predicate == e.args[0] && !locals_.contains(load.ref) &&
         !IsHeld(load.ref);
}

// The offset of a masked load whose lanes are `step` elements apart (0: in descending order). Where the uniform part of
// the predicate is false, the mask is zero, and the offset is that of the lane axis alone, near the start of the
// buffer: a masked load from an unmapped page is completed by microcode, which takes hundreds of cycles even if the
// mask is zero.
llvm::Value* ScalarEmitter::OffsetIfRead(const Expr& load, llvm::Value* offset, int64_t step) {
  if (load.predicate < 0 || lane_axis_ < 0) return offset;
  llvm::Value* wanted = EmitUniformPart(load.predicate);
  if (wanted == nullptr) return offset;
  llvm::Value* first = b_.CreateMul(axes_[lane_axis_], b_.getInt64(step), "lane.offset");
  llvm::Value* row = b_.CreateSelect(wanted, b_.CreateSub(offset, first), b_.getInt64(0), "row.if_wanted");
  return b_.CreateAdd(row, first, "offset.if_wanted");
}

llvm::Value* ScalarEmitter::EmitLoad(const Expr& e) {
  const Buffer& buffer = plan_.buffers[e.ref];
  if (buffer.kind == BufferKind::kLocal) return locals_.at(e.ref);
  if (auto held = locals_.find(e.ref); held != locals_.end() && held->second != nullptr) return held->second;
  const llvm::Align align(SizeOf(buffer.dtype));
  if (IsHeld(e.ref)) {
    llvm::Type* type = MemoryType(b_.getContext(), buffer.dtype, lanes_);
    llvm::Instruction* load = b_.CreateAlignedLoad(type, InterleavedPointer(e.ref, e.args), align, "held");
    return FromMemory(b_, buffer.dtype, Tag(load, e.ref));
  }
  if (llvm::Value* value = EmitMaybeBroadcast(e)) return value;
  if (llvm::Value* value = EmitWrappedLoad(e)) return value;
  if (llvm::Value* value = EmitRepeatedLoad(e)) return value;
  if (llvm::Value* value = EmitPredicatedRepeatedLoad(e)) return value;
  if (llvm::Value* value = EmitInterleavedLoad(e)) return value;
  Address address = EmitAddress(buffer, e.args);

  if (address.pattern == Pattern::kUniform) {
    llvm::Value* predicate = e.predicate >= 0 ? Emit(e.predicate) : nullptr;
    if (predicate && predicate->getType()->isVectorTy()) {
      llvm::Value* any = b_.CreateOrReduce(mask_ ? b_.CreateAnd(predicate, mask_) : predicate);
      llvm::Value* loaded = ToLanes(EmitGuardedScalarLoad(e.ref, address.offset, any));
      return b_.CreateSelect(predicate, loaded, llvm::Constant::getNullValue(loaded->getType()), "guarded.lanes");
    }
    if (predicate && predicate != b_.getTrue()) return EmitGuardedScalarLoad(e.ref, address.offset, predicate);
    llvm::Type* type = MemoryType(b_.getContext(), buffer.dtype, 1);
    llvm::Instruction* load = b_.CreateAlignedLoad(type, ElementPointer(e.ref, address.offset), align, "load");
    return FromMemory(b_, buffer.dtype, Tag(load, e.ref));
  }

  llvm::Type* type = MemoryType(b_.getContext(), buffer.dtype, lanes_);
  llvm::Value* mask = EmitAccessMask(e);
  if (address.pattern != Pattern::kScattered) address.offset = OffsetIfRead(e, address.offset, address.step);
  if (address.pattern == Pattern::kStepped) {
    return FromMemory(b_, buffer.dtype, EmitSteppedLoad(e.ref, address, mask));
  }
  const bool reversed = address.pattern == Pattern::kReversed;
  if (reversed && mask) mask = b_.CreateVectorReverse(mask, "access.reversed");
  llvm::Value* pointer = ElementPointer(e.ref, address.offset);
  llvm::Value* zero = llvm::Constant::getNullValue(type);
  llvm::Instruction* load;
  if (address.pattern == Pattern::kScattered) {
    load = b_.CreateMaskedGather(type, pointer, align, mask ? mask : AllLanes(), zero, "gathered");
  } else if (mask) {
    load = b_.CreateMaskedLoad(type, pointer, align, mask, zero, "masked");
  } else {
    load = b_.CreateAlignedLoad(type, pointer, VectorAlign(e.ref, e.args), "load");
  }
  llvm::Value* lanes = Tag(load, e.ref);
  return FromMemory(b_, buffer.dtype, reversed ? b_.CreateVectorReverse(lanes, "reversed") : lanes);
}

void ScalarEmitter::Store(int buffer_id, const std::vector<ExprId>& indices, llvm::Value* value) {
  const Buffer& buffer = plan_.buffers[buffer_id];
  const llvm::Align align(SizeOf(buffer.dtype));
  if (IsHeld(buffer_id)) {
    llvm::Value* lanes = ToMemory(b_, buffer.dtype, ToLanes(value));
    Tag(b_.CreateAlignedStore(lanes, InterleavedPointer(buffer_id, indices), align), buffer_id);
    return;
  }
  const Address address = EmitAddress(buffer, indices);
  llvm::Value* pointer = ElementPointer(buffer_id, address.offset);
  llvm::Instruction* store;
  if (address.pattern == Pattern::kUniform) {
    if (value->getType()->isVectorTy()) value = b_.CreateExtractElement(value, uint64_t{0}, "lane0");
    store = b_.CreateAlignedStore(ToMemory(b_, buffer.dtype, value), pointer, align);
  } else {
    llvm::Value* lanes = ToMemory(b_, buffer.dtype, ToLanes(value));
    llvm::Value* mask = mask_;
    if (address.pattern == Pattern::kStepped) {
      llvm::SmallVector<llvm::Constant*, 16> steps;
      for (int i = 0; i < lanes_; ++i) steps.push_back(b_.getInt64(i * address.step));
      pointer = b_.CreateGEP(MemoryType(b_.getContext(), buffer.dtype, 1), pointer, llvm::ConstantVector::get(steps));
    }
    if (address.pattern == Pattern::kReversed) {
      lanes = b_.CreateVectorReverse(lanes, "reversed");
      if (mask) mask = b_.CreateVectorReverse(mask, "mask.reversed");
    }
    if (address.pattern == Pattern::kScattered || address.pattern == Pattern::kStepped) {
      store = b_.CreateMaskedScatter(lanes, pointer, align, mask ? mask : AllLanes());
    } else if (mask && address.pattern != Pattern::kReversed) {
      EmitStoreOfFirstLanes(b_, target_, lanes, pointer, align, mask, [&](llvm::Instruction* i) { Tag(i, buffer_id); });
      return;
    } else if (mask) {
      store = b_.CreateMaskedStore(lanes, pointer, align, mask);
    } else if (streams_ && buffer.kind == BufferKind::kOutput) {
      store = b_.CreateAlignedStore(lanes, pointer, llvm::Align(SizeOf(buffer.dtype) * lanes_));
      llvm::Metadata* always = llvm::ConstantAsMetadata::get(b_.getInt32(1));
      store->setMetadata(llvm::LLVMContext::MD_nontemporal, llvm::MDNode::get(b_.getContext(), {always}));
    } else {
      store = b_.CreateAlignedStore(lanes, pointer, VectorAlign(buffer_id, indices));
    }
  }
  Tag(store, buffer_id);
}

// ---- Gather indices -------------------------------------------------------------------------------

llvm::Value* ScalarEmitter::EmitGatherIndex(const Expr& e) {
  llvm::Value* raw = Emit(e.args[0]);
  llvm::Type* i64 = b_.getInt64Ty();
  llvm::Type* type = i64;
  if (auto* vector = llvm::dyn_cast<llvm::FixedVectorType>(raw->getType())) {
    type = llvm::FixedVectorType::get(i64, vector->getNumElements());
  }
  raw = b_.CreateSExt(raw, type, "gather.raw");
  llvm::Value* dim_size = frame_.DimSizeValue(b_, e.dim_size);
  if (type->isVectorTy()) dim_size = ToLanes(dim_size);
  llvm::Value* zero = llvm::Constant::getNullValue(type);
  llvm::Value* negative = b_.CreateICmpSLT(raw, zero, "gather.negative");
  llvm::Value* index = b_.CreateAdd(raw, b_.CreateSelect(negative, dim_size, zero), "gather.index");
  llvm::Value* bad = b_.CreateICmpUGE(index, dim_size, "gather.bad");
  llvm::Value* fault = bad;
  if (mask_ && type->isVectorTy()) fault = b_.CreateAnd(fault, mask_, "gather.fault");
  if (e.predicate >= 0) {
    llvm::Value* wanted = Emit(e.predicate);
    if (wanted->getType()->isVectorTy() || type->isVectorTy()) {
      wanted = ToLanes(wanted);
      fault = ToLanes(fault);
    }
    fault = b_.CreateAnd(fault, wanted, "gather.fault");
  }
  EmitFault(e, raw, fault);
  return b_.CreateSelect(bad, zero, index, "gather.safe");
}

// Cold path: the first fault of a run claims the record, so that its three words are consistent.
void ScalarEmitter::EmitFault(const Expr& e, llvm::Value* raw, llvm::Value* bad) {
  llvm::LLVMContext& context = b_.getContext();
  llvm::Function* function = b_.GetInsertBlock()->getParent();
  auto* report = llvm::BasicBlock::Create(context, "fault", function);
  auto* claimed = llvm::BasicBlock::Create(context, "fault.claimed", function);
  auto* after = llvm::BasicBlock::Create(context, "fault.none", function);
  const bool vector = bad->getType()->isVectorTy();
  llvm::Value* any = vector ? b_.CreateOrReduce(bad) : bad;
  b_.CreateCondBr(any, report, after, llvm::MDBuilder(context).createUnlikelyBranchWeights());

  b_.SetInsertPoint(report);
  llvm::Value* id = b_.CreateAdd(frame_.Get(KernelParameter::kFaultBase), b_.getInt64(e.ref + 1), "fault.id");
  auto order = llvm::AtomicOrdering::Monotonic;
  llvm::Value* exchange =
      b_.CreateAtomicCmpXchg(frame_.Get(KernelParameter::kFault), b_.getInt64(0), id, llvm::Align(8), order, order);
  b_.CreateCondBr(b_.CreateExtractValue(exchange, 1, "fault.first"), claimed, after);

  b_.SetInsertPoint(claimed);
  llvm::Value* value = raw;
  if (vector) {
    llvm::Value* bits = b_.CreateBitCast(bad, b_.getIntNTy(lanes_), "fault.lanes");
    llvm::Value* lane = b_.CreateBinaryIntrinsic(llvm::Intrinsic::cttz, bits, b_.getTrue(), nullptr, "fault.lane");
    value = b_.CreateExtractElement(ToLanes(raw), b_.CreateZExtOrTrunc(lane, b_.getInt32Ty()), "fault.value");
  }
  llvm::Type* i64 = b_.getInt64Ty();
  b_.CreateAlignedStore(value, b_.CreateConstInBoundsGEP1_64(i64, frame_.Get(KernelParameter::kFault), 1),
                        llvm::Align(8));
  b_.CreateAlignedStore(frame_.DimSizeValue(b_, e.dim_size),
                        b_.CreateConstInBoundsGEP1_64(i64, frame_.Get(KernelParameter::kFault), 2), llvm::Align(8));
  b_.CreateBr(after);
  b_.SetInsertPoint(after);
}

}  // namespace tailor
