#include "codegen/cuda/attention/attention_kernel.h"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <utility>

#include "codegen/cuda/device_ir/device_intrinsics.h"
#include "codegen/cuda/device_ir/device_ops.h"
#include "codegen/cuda/device_ir/unroll.h"
#include "codegen/ir/emit_loop.h"
#include "codegen/plan/contraction.h"

namespace tailor::cuda {
namespace {

using device::EmitOp;
using device::Op;
using llvm::Value;

constexpr float kInfinity = std::numeric_limits<float>::infinity();

}  // namespace

AttentionKernel::AttentionKernel(AttentionFrame& frame, Lane lane)
    : f_(frame),
      b_(frame.b),
      a_(frame.attention),
      tile_(frame.tile),
      lane_(std::move(lane)),
      rows_(frame, static_cast<int>(lane_.rows.size()), lane_.sharers),
      query_(frame, a_.query, a_.m, a_.d, tile_.rows, tile_.depth),
      keys_(frame, a_.key, a_.n, a_.d, tile_.keys, tile_.depth),
      values_(frame, a_.value, a_.n, a_.v, tile_.keys, tile_.columns) {
  Value* warp = b_.CreateLShr(f_.thread, 5, "warp");
  slice_ = b_.CreateURem(warp, f_.I32(tile_.slices), "slice");
  slice_key_ = b_.CreateMul(slice_, f_.I32(tile_.warp_keys()), "slice.key");
  warp_row_ = b_.CreateMul(b_.CreateUDiv(warp, f_.I32(tile_.slices)), f_.I32(AttentionTile::kWarpRows), "warp.row");
  for (Value* row : lane_.rows) {
    in_tile_.push_back(b_.CreateAdd(warp_row_, row, "row.in_tile"));
    Value* m = b_.CreateAdd(f_.first_row, f_.Wide(in_tile_.back()));
    Value* last = b_.CreateSub(f_.rows, b_.getInt64(1));
    m_.push_back(b_.CreateBinaryIntrinsic(llvm::Intrinsic::smin, m, last, nullptr, "m"));
  }
  for (size_t i = 0; i < lane_.sums.size(); ++i) sums_.push_back(OpenRegister(0, "sums"));
  for (size_t i = 0; i < lane_.scores.size(); ++i) at_keys_.push_back(OpenRegister(0, "at_key"));
  if (f_.masked) masked_values_ = std::make_unique<MaskedValues>(f_);
}

llvm::AllocaInst* AttentionKernel::OpenRegister(float value, const char* name) {
  return OpenVariable(b_, f_.F32(value), name);
}

void AttentionKernel::Emit() {
  EmitIf(b_, b_.CreateICmpSGT(f_.keys, b_.getInt64(0), "any.keys"), "attend", [&] { EmitSteps(); });
  rows_.EmitFinish();
  device::EmitBarrier(b_);  // all threads have finished the steps
  EmitResult();
  if (f_.masked) {
    masked_values_->EmitPublish();
    device::EmitBarrier(b_);
    masked_values_->EmitGather();
  }
  device::EmitBarrier(b_);
  EmitStore();
  b_.CreateRetVoid();
}

Value* AttentionKernel::At(Value* shared, Value* row, int row_bytes, Value* offset) {
  Value* at = b_.CreateAdd(b_.CreateMul(row, f_.I32(row_bytes)), offset);
  return b_.CreateInBoundsGEP(b_.getInt8Ty(), shared, at, "shared.at");
}

// ---- The loop over keys -------------------------------------------------------------------------

// Keys that a mask excludes from all rows of the block are not multiplied.
void AttentionKernel::EmitSteps() {
  query_.EmitCopyStep(f_.first_row, f_.Shared(f_.I32(QueryOffset(tile_))));
  CopyStep(b_.getInt64(0), StageOf(b_.getInt64(0)));
  EmitOp(b_, Op::kCpAsyncCommit, {});
  EmitOp(b_, Op::kCpAsyncWait, {f_.I32(0)});
  device::EmitBarrier(b_);
  EmitQuery();
  if (f_.masked) {
    EmitSeenSteps();
  } else {
    EmitWalk(
        b_.getInt64(0), f_.keys, [&](Value* first) { CopyStep(first, StageOf(first)); },
        [&](Value* first) { EmitStep(first, StageOf(first)); });
  }
  EmitOp(b_, Op::kCpAsyncWait, {f_.I32(0)});
}

// Steps from `begin`, whose copies are already issued, to `end`.
void AttentionKernel::EmitWalk(Value* begin, Value* end, llvm::function_ref<void(Value*)> bring,
                               llvm::function_ref<void(Value*)> work) {
  EmitLoop(b_, begin, end, tile_.keys, "key", [&](Value* first) {
    Value* next = b_.CreateAdd(first, b_.getInt64(tile_.keys), "key.next");
    Value* more = b_.CreateICmpSLT(next, end, "more");
    EmitOp(b_, Op::kCpAsyncWait, {f_.I32(0)});
    device::EmitBarrier(b_);  // and all threads have finished the previous step
    if (tile_.stages == 2) {
      EmitIf(b_, more, "bring", [&] { bring(next); });
      EmitOp(b_, Op::kCpAsyncCommit, {});
    }
    work(first);
    if (tile_.stages == 1) {
      device::EmitBarrier(b_);
      EmitIf(b_, more, "bring", [&] { bring(next); });
      EmitOp(b_, Op::kCpAsyncCommit, {});
    }
  });
}

// Runs the steps in which some row sees a key. Runs all others too if masked keys have weight; else only checks their
// values.
void AttentionKernel::EmitSeenSteps() {
  const auto bring = [&](Value* first) { CopyStep(first, StageOf(first)); };
  const auto step = [&](Value* first) { EmitStep(first, StageOf(first)); };
  Value* end = EmitVisibleEnd();
  EmitWalk(b_.getInt64(0), end, bring, step);
  if (!f_.masked->never) {
    auto* const seen = b_.CreateAlloca(b_.getInt64Ty(), nullptr, "seen");
    b_.CreateStore(end, seen);
    EmitIf(b_, b_.CreateICmpSLT(end, f_.keys), "decide", [&] {
      EmitIf(b_, b_.CreateNot(EmitMaskedHaveNoWeight(end)), "multiply.all", [&] {
        b_.CreateStore(f_.keys, seen);
        bring(end);
        EmitOp(b_, Op::kCpAsyncCommit, {});
        EmitWalk(end, f_.keys, bring, step);
      });
    });
    end = b_.CreateLoad(b_.getInt64Ty(), seen, "seen.end");
  }
  const auto bring_values = [&](Value* first) { values_.EmitCopyStep(first, ValuesOf(StageOf(first))); };
  EmitIf(b_, b_.CreateICmpSLT(end, f_.keys), "look", [&] {
    device::EmitBarrier(b_);
    bring_values(end);
    EmitOp(b_, Op::kCpAsyncCommit, {});
    EmitWalk(end, f_.keys, bring_values, [&](Value* first) { masked_values_->EmitCheck(ValuesOf(StageOf(first))); });
  });
}

Value* AttentionKernel::StageOf(Value* first) {
  Value* step = b_.CreateTrunc(b_.CreateUDiv(first, b_.getInt64(tile_.keys)), b_.getInt32Ty(), "step");
  return f_.Shared(b_.CreateMul(b_.CreateURem(step, f_.I32(tile_.stages)), f_.I32(StageBytes(tile_)), "stage"));
}

// Address of the value rows of a stage.
Value* AttentionKernel::ValuesOf(Value* stage) {
  const int bytes = tile_.keys * StagedRowBytes(tile_.depth, tile_.element_bytes());
  return b_.CreateConstInBoundsGEP1_32(b_.getInt8Ty(), stage, bytes, "values");
}

void AttentionKernel::CopyStep(Value* first, Value* stage) {
  keys_.EmitCopyStep(first, stage);
  values_.EmitCopyStep(first, ValuesOf(stage));
}

// ---- Masked keys ---------------------------------------------------------------------------------

// The end of the steps in which some row of the block sees a key, at least of the first step. Uniform over warps.
Value* AttentionKernel::EmitVisibleEnd() {
  Value* end = b_.getInt64(0);
  const int lanes = std::min(tile_.rows, 32);
  for (int first = 0; first < tile_.rows; first += lanes) {
    Value* row = b_.CreateAdd(b_.CreateAnd(f_.thread, lanes - 1), f_.I32(first));
    Value* last = b_.CreateSub(f_.rows, b_.getInt64(1));
    f_.scalars.SetAxis(a_.m,
                       b_.CreateBinaryIntrinsic(llvm::Intrinsic::smin, b_.CreateAdd(f_.first_row, f_.Wide(row)), last));
    end = b_.CreateBinaryIntrinsic(llvm::Intrinsic::smax, end, f_.scalars.Emit(f_.masked->end));
    f_.scalars.Forget();
  }
  end = b_.CreateBinaryIntrinsic(llvm::Intrinsic::smin, end, f_.keys, nullptr, "rows.end");
  for (int distance = 1; distance < lanes; distance *= 2) {
    end = b_.CreateBinaryIntrinsic(llvm::Intrinsic::smax, end, device::EmitShuffleXor(b_, end, distance));
  }
  Value* steps = b_.CreateUDiv(b_.CreateAdd(end, b_.getInt64(tile_.keys - 1)), b_.getInt64(tile_.keys), "steps");
  steps = b_.CreateBinaryIntrinsic(llvm::Intrinsic::umax, steps, b_.getInt64(1));
  end = b_.CreateMul(steps, b_.getInt64(tile_.keys), "rows.steps");
  Value* numbered = b_.CreateICmpSLE(f_.keys, b_.getInt64(int64_t{1} << 31), "numbered");
  return b_.CreateSelect(numbered, end, f_.keys, "seen.end");
}

// Whether the weights of the masked keys from `first` on are 0 in every row of the block. They are not if a masked
// score is not far below the row's maximum so far.
Value* AttentionKernel::EmitMaskedHaveNoWeight(Value* first) {
  Value* nothing = b_.getTrue();
  const std::vector<Value*> most = EmitMaskedScores(first);
  for (size_t row = 0; row < most.size(); ++row) {
    nothing = b_.CreateAnd(nothing, EmitHasNoWeight(static_cast<int>(row), most[row]), "nothing");
  }
  return EmitAllWarps(nothing);
}

// For each of the lane's rows, the largest score of masked keys from `first` on, of which each sharer takes its share.
std::vector<Value*> AttentionKernel::EmitMaskedScores(Value* first) {
  std::vector<llvm::AllocaInst*> most;
  for (size_t row = 0; row < m_.size(); ++row) most.push_back(OpenRegister(-kInfinity, "masked.most"));
  const auto take = [&](Value* n) {
    for (size_t row = 0; row < m_.size(); ++row) {
      f_.scalars.SetAxis(a_.m, m_[row]);
      f_.scalars.SetAxis(a_.n, n);
      Value* before = b_.CreateLoad(b_.getFloatTy(), most[row], "most.before");
      b_.CreateStore(rows_.EmitMax(before, f_.scalars.Emit(f_.masked->score)), most[row]);
    }
    f_.scalars.Forget();
  };
  if (DependsOn(f_.plan, f_.masked->score, a_.n)) {
    Value* member = b_.CreateURem(f_.thread, f_.I32(lane_.sharers), "member");
    EmitLoop(b_, b_.CreateAdd(first, f_.Wide(member)), f_.keys, lane_.sharers, "masked", take);
  } else {
    take(first);
  }
  std::vector<Value*> values;
  for (llvm::AllocaInst* slot : most) values.push_back(b_.CreateLoad(b_.getFloatTy(), slot, "most"));
  return values;
}

// Whether a score of at most `masked` has an exponential of 0, relative to the row's maximum so far. If it is -inf, or
// if the row has seen NaN, the result does not depend on it. Out-of-range rows always agree.
Value* AttentionKernel::EmitHasNoWeight(int row, Value* masked) {
  constexpr float kBelowAll = -128;  // exp(-104) is less than half the least float
  Value* running_max = rows_.EmitRunningMax(row);
  Value* nothing = b_.CreateFCmpOLT(b_.CreateFSub(masked, running_max), f_.F32(kBelowAll), "far.below");
  nothing = b_.CreateOr(nothing, b_.CreateFCmpOEQ(masked, f_.F32(-kInfinity)));
  nothing = b_.CreateOr(nothing, b_.CreateFCmpUNO(running_max, running_max));
  Value* m = b_.CreateAdd(f_.first_row, f_.Wide(in_tile_[row]));
  return b_.CreateOr(nothing, b_.CreateICmpSGE(m, f_.rows), "nothing");
}

// Whether `holds` is true in all threads of the block; all must arrive. Usable once per kernel.
Value* AttentionKernel::EmitAllWarps(Value* holds) {
  const auto vote = [&](Value* warp) {
    return f_.Shared(b_.CreateAdd(b_.CreateMul(warp, f_.I32(4)), f_.I32(VoteOffset(tile_)), "vote"));
  };
  Value* all = b_.CreateICmpEQ(EmitOp(b_, Op::kBallot, {holds}), f_.I32(-1), "warp.all");
  EmitIf(b_, b_.CreateICmpEQ(b_.CreateAnd(f_.thread, 31), f_.I32(0)), "vote", [&] {
    b_.CreateAlignedStore(b_.CreateZExt(all, b_.getInt32Ty()), vote(b_.CreateLShr(f_.thread, 5)), llvm::Align(4));
  });
  device::EmitBarrier(b_);
  Value* votes = f_.I32(1);
  for (int warp = 0; warp < tile_.warps(); ++warp) {
    votes = b_.CreateAnd(votes, b_.CreateAlignedLoad(b_.getInt32Ty(), vote(f_.I32(warp)), llvm::Align(4)), "votes");
  }
  return b_.CreateICmpNE(votes, f_.I32(0), "all");
}

// ---- A step --------------------------------------------------------------------------------------

void AttentionKernel::EmitStep(Value* first, Value* stage) {
  std::vector<Value*> scores;
  if (!tile_.is_narrow()) scores = EmitQK(stage);  // no registers for loads in flight
  const auto matmul = [&] { return tile_.is_narrow() ? EmitQK(stage) : scores; };
  EmitPV(ValuesOf(stage), EmitWeights(EmitAtKeys(first, a_.scores, a_.score, -kInfinity, matmul), first));
}

// Turns scores into the weights of the second matmul, and rescales the sums to the new maximum. Out-of-range keys have
// score -inf and get weight 0, whatever their factors.
std::vector<Value*> AttentionKernel::EmitWeights(std::vector<Value*> scores, Value* first) {
  std::vector<std::vector<Value*>> rows(lane_.rows.size());
  for (size_t i = 0; i < scores.size(); ++i) rows[lane_.scores[i].row].push_back(scores[i]);
  std::vector<Value*> factors;
  for (size_t row = 0; row < rows.size(); ++row) {
    factors.push_back(rows_.EmitUpdate(static_cast<int>(row), rows[row]));
  }
  Rescale(factors);
  std::vector<size_t> next(rows.size(), 0);
  for (size_t i = 0; i < scores.size(); ++i) scores[i] = rows[lane_.scores[i].row][next[lane_.scores[i].row]++];
  const bool is_exponential = f_.plan.exprs[a_.weight].kind == ExprKind::kLoad;
  return is_exponential ? scores : EmitAtKeys(first, a_.e, a_.weight, 0, [&] { return scores; });
}

// `expr` for each of a step's values, at its row and key, where `local` is the value; `otherwise` at out-of-range keys.
// In steps without such keys, neighbouring keys are lanes of one vector. `values` is called for either kind of step, so
// that the loads of `expr` are in flight while it computes.
std::vector<Value*> AttentionKernel::EmitAtKeys(Value* first, int local, ExprId expr, float otherwise,
                                                llvm::function_ref<std::vector<Value*>()> values) {
  const DimSizeRange range = RangeOfDimSize(f_.plan, f_.plan.axes[a_.n].dim_size);
  const bool always_whole = (range.fixed ? range.max : range.divisor) % tile_.keys == 0;
  Value* lane_key = b_.CreateAdd(slice_key_, lane_.key, "lane.key");
  Value* first_key = b_.CreateAdd(first, f_.Wide(lane_key), "key.first");
  const auto of_whole_step = [&] {
    const std::vector<Value*> scores = values();
    auto* run = llvm::FixedVectorType::get(b_.getFloatTy(), lane_.key_run);
    for (size_t i = 0; i < scores.size(); i += lane_.key_run) {
      f_.scalars.SetAxis(a_.m, m_[lane_.scores[i].row]);
      f_.scalars.SetLanes(a_.n, b_.CreateAdd(first_key, b_.getInt64(lane_.scores[i].offset), "n"), lane_.key_run,
                          nullptr);
      Value* given = llvm::PoisonValue::get(run);
      for (int j = 0; j < lane_.key_run; ++j) given = b_.CreateInsertElement(given, scores[i + j], uint64_t(j));
      f_.scalars.SetLocal(local, lane_.key_run == 1 ? scores[i] : given);
      Value* value = f_.scalars.Emit(expr);
      for (int j = 0; j < lane_.key_run; ++j) {
        b_.CreateStore(value->getType()->isVectorTy() ? b_.CreateExtractElement(value, uint64_t(j)) : value,
                       at_keys_[i + j]);
      }
    }
    f_.scalars.SetLanes(a_.n, b_.getInt64(0), 1, nullptr);
    f_.scalars.Forget();
  };
  const auto of_last_step = [&] {
    const std::vector<Value*> scores = values();
    Value* left =
        b_.CreateBinaryIntrinsic(llvm::Intrinsic::smin, b_.CreateSub(f_.keys, first), b_.getInt64(tile_.keys));
    left = b_.CreateSub(b_.CreateTrunc(left, b_.getInt32Ty()), lane_key, "keys.left");
    Value* last_key = b_.CreateSub(f_.keys, b_.getInt64(1), "key.last");
    for (size_t i = 0; i < scores.size(); ++i) {
      const Place& place = lane_.scores[i];
      Value* n = b_.CreateAdd(first_key, b_.getInt64(place.offset), "n");
      f_.scalars.SetAxis(a_.m, m_[place.row]);
      f_.scalars.SetAxis(a_.n, b_.CreateBinaryIntrinsic(llvm::Intrinsic::smin, n, last_key));
      f_.scalars.SetLocal(local, scores[i]);
      Value* exists = b_.CreateICmpSGT(left, f_.I32(place.offset), "key.exists");
      b_.CreateStore(b_.CreateSelect(exists, f_.scalars.Emit(expr), f_.F32(otherwise), "existing"), at_keys_[i]);
    }
    f_.scalars.Forget();
  };
  if (always_whole) {
    of_whole_step();
  } else if (f_.few_registers()) {
    of_last_step();
  } else {
    Value* whole = b_.CreateICmpSLE(b_.CreateAdd(first, b_.getInt64(tile_.keys)), f_.keys, "step.is_whole");
    EmitIf(b_, whole, "whole.step", of_whole_step);
    EmitIf(b_, b_.CreateNot(whole), "last.step", of_last_step);
  }
  std::vector<Value*> results;
  for (llvm::AllocaInst* slot : at_keys_) results.push_back(b_.CreateLoad(b_.getFloatTy(), slot, "at_key"));
  return results;
}

// Scales the sums by their rows' factors, unless all factors of the warp are 1: after the first steps maxima rarely
// change.
void AttentionKernel::Rescale(const std::vector<Value*>& factors) {
  const auto scale = [&] {
    for (size_t row = 0; row < factors.size(); ++row) Scale(static_cast<int>(row), factors[row]);
  };
  if (f_.few_registers()) return scale();
  Value* changes = b_.getFalse();
  for (Value* factor : factors) changes = b_.CreateOr(changes, b_.CreateFCmpUNE(factor, f_.F32(1)), "changes");
  Value* any = b_.CreateICmpNE(EmitOp(b_, Op::kBallot, {changes}), f_.I32(0), "warp.changes");
  EmitIf(b_, any, "rescale", scale);
}

void AttentionKernel::Scale(int row, Value* factor) {
  for (size_t i = 0; i < sums_.size(); ++i) {
    if (lane_.sums[i].row != row) continue;
    Value* sum = b_.CreateLoad(b_.getFloatTy(), sums_[i], "sum");
    b_.CreateStore(b_.CreateFMul(sum, factor, "sum.scaled"), sums_[i]);
  }
}

// ---- The epilogue -------------------------------------------------------------------------------

Value* AttentionKernel::SliceAddress(Value* slice, Value* row) {
  return f_.Shared(b_.CreateMul(b_.CreateAdd(b_.CreateMul(slice, f_.I32(tile_.rows)), row), f_.I32(8)));
}

Value* AttentionKernel::ResultAddress(Value* slice, Value* row, Value* column) {
  Value* at = b_.CreateAdd(b_.CreateMul(slice, f_.I32(tile_.rows)), row);
  at = b_.CreateAdd(b_.CreateMul(at, f_.I32(StagedResultRow(tile_))), column);
  return f_.Shared(b_.CreateAdd(b_.CreateMul(at, f_.I32(4)), f_.I32(ResultOffset(tile_))));
}

// Stores the sums times the rows' scale in shared memory.
void AttentionKernel::EmitResult() {
  std::vector<Value*> factors(lane_.rows.size(), f_.F32(1));
  if (tile_.slices > 1) factors = EmitSliceReduction();
  for (size_t row = 0; row < factors.size(); ++row) {
    Scale(static_cast<int>(row), b_.CreateFMul(factors[row], EmitScale(static_cast<int>(row)), "row.factor"));
  }
  auto* type = llvm::FixedVectorType::get(b_.getFloatTy(), lane_.run);
  for (size_t i = 0; i < sums_.size(); i += lane_.run) {
    Value* run = llvm::PoisonValue::get(type);
    for (unsigned j = 0; j < lane_.run; ++j) {
      run = b_.CreateInsertElement(run, b_.CreateLoad(b_.getFloatTy(), sums_[i + j]), uint64_t{j}, "results");
    }
    Value* column = b_.CreateAdd(lane_.column, f_.I32(lane_.sums[i].offset), "column");
    b_.CreateAlignedStore(run, ResultAddress(slice_, in_tile_[lane_.sums[i].row], column), llvm::Align(4 * lane_.run));
  }
}

// The slices exchange each row's maximum and sum of exponentials, and combine them. Returns, by row, the factor of this
// slice's sums.
std::vector<Value*> AttentionKernel::EmitSliceReduction() {
  Value* leads = b_.CreateICmpEQ(b_.CreateAnd(f_.thread, lane_.sharers - 1), f_.I32(0), "leads");
  const auto half = [&](Value* at) { return b_.CreateConstInBoundsGEP1_32(b_.getInt8Ty(), at, 4); };
  EmitIf(b_, leads, "tell", [&] {
    for (size_t row = 0; row < in_tile_.size(); ++row) {
      Value* at = SliceAddress(slice_, in_tile_[row]);
      b_.CreateAlignedStore(rows_.EmitRunningMax(static_cast<int>(row)), at, llvm::Align(4));
      b_.CreateAlignedStore(rows_.EmitRunningSum(static_cast<int>(row)), half(at), llvm::Align(4));
    }
  });
  device::EmitBarrier(b_);
  std::vector<Value*> factors;
  for (size_t row = 0; row < in_tile_.size(); ++row) {
    std::vector<Value*> maxima, sums;
    for (int slice = 0; slice < tile_.slices; ++slice) {
      Value* at = SliceAddress(f_.I32(slice), in_tile_[row]);
      maxima.push_back(b_.CreateAlignedLoad(b_.getFloatTy(), at, llvm::Align(4), "slice.max"));
      sums.push_back(b_.CreateAlignedLoad(b_.getFloatTy(), half(at), llvm::Align(4), "slice.sum"));
    }
    factors.push_back(rows_.EmitMerge(static_cast<int>(row), maxima, sums));
  }
  return factors;
}

// The factor of the row's sums. NaN if all scores were -inf. Without keys there are no sums, and the sum of
// exponentials is taken as 1.
Value* AttentionKernel::EmitScale(int row) {
  Value* any = b_.CreateICmpSGT(f_.keys, b_.getInt64(0), "any.keys");
  Value* running_max = rows_.EmitRunningMax(row);
  f_.scalars.SetAxis(a_.m, m_[row]);
  f_.scalars.SetLocal(a_.row_max, running_max);
  f_.scalars.SetLocal(a_.row_sum, b_.CreateSelect(any, rows_.EmitRunningSum(row), f_.F32(1), "row_sum.or_one"));
  Value* scale = f_.scalars.Emit(a_.scale);
  f_.scalars.Forget();
  Value* none = b_.CreateAnd(any, b_.CreateFCmpOEQ(running_max, f_.F32(-kInfinity)), "all.masked");
  return b_.CreateSelect(none, f_.F32(std::numeric_limits<float>::quiet_NaN()), scale, "scale");
}

// Neighbouring threads store neighbouring columns.
void AttentionKernel::EmitStore() {
  Value* rows_left = b_.CreateSub(f_.rows, f_.first_row, "rows.left");
  llvm::BasicBlock* latch = nullptr;
  const auto store = [&](Value* begin) {
    Value* index = b_.CreateAdd(b_.CreateTrunc(begin, b_.getInt32Ty()), f_.thread, "index");
    Value *row = b_.CreateUDiv(index, f_.I32(tile_.columns)), *column = b_.CreateURem(index, f_.I32(tile_.columns));
    Value* exists = b_.CreateICmpSLT(f_.Wide(row), rows_left);
    exists = b_.CreateAnd(exists, b_.CreateICmpULT(column, f_.I32(static_cast<int>(f_.columns))), "exists");
    EmitIf(b_, exists, "store", [&] { EmitElement(row, column); });
    latch = b_.GetInsertBlock();
  };
  EmitLoop(b_, b_.getInt64(0), b_.getInt64(tile_.rows * tile_.columns), tile_.threads(), "element", store);
  SetUnroll(latch, 4);
}

// Adds the slices' parts in order, and runs the epilogue.
void AttentionKernel::EmitElement(Value* row, Value* column) {
  Value* sum = nullptr;
  for (int slice = 0; slice < tile_.slices; ++slice) {
    Value* at = ResultAddress(f_.I32(slice), row, column);
    Value* part = b_.CreateAlignedLoad(b_.getFloatTy(), at, llvm::Align(4), "part");
    sum = sum == nullptr ? part : b_.CreateFAdd(sum, part, "sum");
  }
  f_.scalars.SetAxis(a_.m, b_.CreateAdd(f_.first_row, f_.Wide(row), "m"));
  f_.scalars.SetAxis(a_.v, f_.Wide(column));
  if (f_.masked) {
    Value* nan = f_.F32(std::numeric_limits<float>::quiet_NaN());
    sum = b_.CreateSelect(masked_values_->EmitIsNonFinite(column), nan, sum, "sum.touched");
  }
  f_.scalars.SetLocal(a_.result, sum);
  for (size_t stage = a_.epilogue; stage < f_.plan.stages.size(); ++stage) {
    for (const Statement& s : f_.plan.stages[stage].statements) {
      f_.scalars.Store(s.buffer, s.indices, f_.scalars.Emit(s.value));
    }
  }
  f_.scalars.Forget();
}

}  // namespace tailor::cuda
