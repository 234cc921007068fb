#include "codegen/cuda/gemm/warpgroup_gemm.h"

#include <vector>

#include "codegen/contract/panels.h"
#include "codegen/cuda/device_ir/device_intrinsics.h"
#include "codegen/cuda/device_ir/device_ops.h"
#include "codegen/cuda/gemm/matmul_epilogue.h"
#include "codegen/cuda/gemm/stream_k.h"
#include "codegen/cuda/gemm/warpgroup_producer.h"
#include "codegen/cuda/gemm/warpgroup_stages.h"
#include "codegen/ir/emit_loop.h"

namespace tailor::cuda {
namespace {

using device::EmitOp;
using device::Op;
using llvm::Value;

constexpr int kRows = 64, kDepth = 16;  // of one wgmma
constexpr int kWarpRows = 16;
constexpr int kTeamBarrier = 1;  // barrier 0 is the block's

struct WarpgroupOps {
  Op multiply, results;
};

WarpgroupOps OpsOf(DType dtype, int columns) {
  const bool f16 = dtype == DType::kF16;
  switch (columns) {
    case 32:
      return {f16 ? Op::kWgmmaM64N32K16F16Tb : Op::kWgmmaM64N32K16Bf16Tb, Op::kWgmmaResults32};
    case 64:
      return {f16 ? Op::kWgmmaM64N64K16F16Tb : Op::kWgmmaM64N64K16Bf16Tb, Op::kWgmmaResults64};
    case 128:
      return {f16 ? Op::kWgmmaM64N128K16F16Tb : Op::kWgmmaM64N128K16Bf16Tb, Op::kWgmmaResults128};
    default:
      assert(columns == 256);
      return {f16 ? Op::kWgmmaM64N256K16F16Tb : Op::kWgmmaM64N256K16Bf16Tb, Op::kWgmmaResults256};
  }
}

// Emits the consumer side: a warpgroup that multiplies.
class Consumer {
 public:
  Consumer(MatmulFrame& matmul, StreamK& stream_k, WarpgroupStages& stages);
  // Emits all segments of the block.
  void Emit();

 private:
  void EmitMultiplySteps();
  void EmitStep(Value* k);
  void EmitRelease(Value* step);
  Value* EmitPair(int i);
  void EmitStage(Value* first);
  Value* Descriptor(Value* address, int leading, int stride, int swizzle_bytes);
  Value* I32(int value) { return b_.getInt32(value); }

  MatmulFrame& matmul_;
  llvm::IRBuilderBase& b_;
  StreamK& stream_k_;
  WarpgroupStages& stages_;
  const MatmulTile& tile_;
  const WarpgroupOps ops_;
  Value *thread_, *lane_;  // i32: thread of the block; thread % 32
  std::vector<llvm::AllocaInst*> sums_;
  // With MatmulTile::rounds_sums: pairs of them in a word, which take half the registers.
  std::vector<llvm::AllocaInst*> rounded_;
  llvm::AllocaInst* step_;
  Value *lhs_ = nullptr, *rhs_ = nullptr;  // descriptors of stage 0
};

Consumer::Consumer(MatmulFrame& matmul, StreamK& stream_k, WarpgroupStages& stages)
    : matmul_(matmul),
      b_(matmul.b()),
      stream_k_(stream_k),
      stages_(stages),
      tile_(matmul.tile()),
      ops_(OpsOf(matmul.types().operand, matmul.tile().part_columns)),
      thread_(matmul.thread()),
      lane_(b_.CreateAnd(thread_, 31, "lane")),
      step_(matmul.Variable(b_.getInt32Ty(), "consumed")) {
  b_.CreateStore(I32(0), step_);
  for (int i = 0; i < tile_.part_columns / 2; ++i) {
    sums_.push_back(matmul.Variable(b_.getFloatTy(), "sum"));
  }
  if (!tile_.rounds_sums) return;
  for (int i = 0; i < tile_.part_columns / 4; ++i) rounded_.push_back(matmul.Variable(b_.getInt32Ty(), "rounded"));
}

// A matrix descriptor (PTX ISA, "Matrix Descriptor Format") of swizzled atoms of 8 rows; offsets in bytes.
Value* Consumer::Descriptor(Value* address, int leading, int stride, int swizzle_bytes) {
  constexpr int kUnitBits = 4;
  const uint64_t swizzle = swizzle_bytes == 128 ? 1 : swizzle_bytes == 64 ? 2 : 3;
  const uint64_t fixed = swizzle << 62 | static_cast<uint64_t>(stride >> kUnitBits) << 32 |
                         static_cast<uint64_t>(leading >> kUnitBits) << 16;
  Value* start = b_.CreateAnd(b_.CreatePtrToInt(address, b_.getInt32Ty()), 0x3ffff);
  start = b_.CreateZExt(b_.CreateLShr(start, kUnitBits), b_.getInt64Ty());
  return b_.CreateOr(start, b_.getInt64(fixed), "descriptor");
}

// Hands a stage that has been read back to the producer.
void Consumer::EmitRelease(Value* step) {
  EmitIf(b_, b_.CreateICmpEQ(lane_, I32(0)), "release",
         [&] { EmitOp(b_, Op::kMbarrierArrive, {stages_.Empty(stages_.Of(step).number)}); });
}

// While this step is multiplied, the previous one ends.
void Consumer::EmitStep(Value* k) {
  Value* step = b_.CreateLoad(b_.getInt32Ty(), step_, "step");
  const WarpgroupStages::Stage stage = stages_.Of(step);
  EmitOp(b_, Op::kMbarrierWait, {stages_.Full(stage.number), stage.parity});
  EmitOp(b_, Op::kWgmmaFence, {});
  Value* offset = b_.CreateMul(stage.number, I32(stages_.StageBytes() / 16));
  offset = b_.CreateZExt(offset, b_.getInt64Ty(), "stage.offset");
  Value *lhs = b_.CreateAdd(lhs_, offset), *rhs = b_.CreateAdd(rhs_, offset);
  std::vector<Value*> operands;
  for (llvm::AllocaInst* sum : sums_) operands.push_back(b_.CreateLoad(b_.getFloatTy(), sum, "sum"));
  for (int depth = 0; depth < tile_.depth; depth += kDepth) {
    operands.push_back(b_.CreateAdd(lhs, b_.getInt64(depth * 2 / 16)));
    operands.push_back(b_.CreateAdd(rhs, b_.getInt64(depth * 2 * kPanelColumns / 16)));
    Value* next = EmitOp(b_, ops_.multiply, operands);
    operands.clear();
    for (unsigned i = 0; i < sums_.size(); ++i) operands.push_back(b_.CreateExtractValue(next, i, "sum.next"));
  }
  for (size_t i = 0; i < sums_.size(); ++i) b_.CreateStore(operands[i], sums_[i]);
  EmitOp(b_, Op::kWgmmaCommit, {});
  EmitOp(b_, Op::kWgmmaWait, {I32(1)});
  EmitIf(b_, b_.CreateICmpSGT(k, matmul_.k_begin()), "before", [&] { EmitRelease(b_.CreateSub(step, I32(1))); });
  b_.CreateStore(b_.CreateAdd(step, I32(1)), step_);
}

void Consumer::EmitMultiplySteps() {
  for (llvm::AllocaInst* sum : sums_) b_.CreateStore(llvm::Constant::getNullValue(b_.getFloatTy()), sum);
  EmitLoop(b_, matmul_.k_begin(), matmul_.k_end(), tile_.depth, "k", [&](Value* k) { EmitStep(k); });
  EmitOp(b_, Op::kWgmmaWait, {I32(0)});
  std::vector<Value*> operands;
  for (llvm::AllocaInst* sum : sums_) operands.push_back(b_.CreateLoad(b_.getFloatTy(), sum, "sum"));
  Value* results = EmitOp(b_, ops_.results, operands);
  for (unsigned i = 0; i < sums_.size(); ++i) b_.CreateStore(b_.CreateExtractValue(results, i, "sum"), sums_[i]);
  EmitIf(b_, b_.CreateICmpSLT(matmul_.k_begin(), matmul_.k_end()), "last",
         [&] { EmitRelease(b_.CreateSub(b_.CreateLoad(b_.getInt32Ty(), step_, "step"), I32(1))); });
  const Op pack = matmul_.types().rounded == DType::kF16 ? Op::kPackF16 : Op::kPackBf16;
  for (size_t i = 0; i < rounded_.size(); ++i) {
    Value *low = b_.CreateLoad(b_.getFloatTy(), sums_[2 * i]), *high = b_.CreateLoad(b_.getFloatTy(), sums_[2 * i + 1]);
    b_.CreateStore(EmitOp(b_, pack, {low, high}), rounded_[i]);
  }
}

// Sums i and i + 1, as they are staged.
Value* Consumer::EmitPair(int i) {
  if (tile_.rounds_sums) return b_.CreateLoad(b_.getInt32Ty(), rounded_[i / 2], "rounded");
  Value* pair = llvm::PoisonValue::get(llvm::FixedVectorType::get(b_.getFloatTy(), 2));
  for (int j : {0, 1}) {
    pair = b_.CreateInsertElement(pair, b_.CreateLoad(b_.getFloatTy(), sums_[i + j], "sum"), j, "sums");
  }
  return pair;
}

// A lane has pairs of neighbouring columns, of rows lane / 4 and lane / 4 + 8 of its warp. If outputs are contiguous
// along rows, the pitch of staged rows is odd: in odd rows no pair is 8-byte aligned, so it takes two stores.
void Consumer::EmitStage(Value* first) {
  Value *thread = matmul_.team().thread, *lane = b_.CreateAnd(thread, 31, "lane");
  Value* row = b_.CreateSub(b_.CreateMul(b_.CreateLShr(thread, 5, "warp"), I32(kWarpRows)), first, "warp.row");
  EmitIf(b_, b_.CreateICmpULT(row, I32(tile_.pass_rows), "in.pass"), "stage", [&] {
    Value* lane_row = b_.CreateNUWAdd(row, b_.CreateLShr(lane, 2), "lane.row");
    Value* lane_column = b_.CreateShl(b_.CreateAnd(lane, 3), 1, "lane.column");
    for (int i = 0; i < static_cast<int>(sums_.size()); i += 2) {
      Value* at = b_.CreateNUWAdd(lane_row, I32(i / 2 % 2 * 8));
      const llvm::Align align(matmul_.types().stores_along_rows || tile_.rounds_sums ? 4 : 8);
      b_.CreateAlignedStore(EmitPair(i), StagedSumInEight(matmul_, at, i / 4, lane_column), align);
    }
  });
}

void Consumer::Emit() {
  const int row_bytes = tile_.depth * 2, panel_bytes = tile_.depth * 2 * kPanelColumns;
  // Uniform over the warp, which the assembler cannot infer from a quotient of the thread's index.
  Value* warpgroup = device::EmitShuffleIndex(b_, b_.CreateUDiv(thread_, I32(kWarpgroupThreads)), I32(0));
  Value* own_rows = b_.CreateMul(warpgroup, I32(kRows * row_bytes));
  Value* lhs = b_.CreateInBoundsGEP(b_.getInt8Ty(), stages_.Lhs(I32(0)), own_rows, "lhs.rows");
  lhs_ = Descriptor(lhs, /*leading=*/16, /*stride=*/8 * row_bytes, row_bytes);
  rhs_ = Descriptor(stages_.Rhs(I32(0)), /*leading=*/panel_bytes, /*stride=*/8 * 2 * kPanelColumns, 2 * kPanelColumns);
  const int threads = tile_.parts() * kWarpgroupThreads;
  const auto set_team = [&](Value* thread) {
    matmul_.SetTeam({thread, threads, stages_.Staged(), [this, threads] {
                       EmitOp(b_, Op::kNamedBarrier, {I32(kTeamBarrier), I32(threads)});
                     }});
  };
  stream_k_.EmitEach([&] {
    EmitMultiplySteps();
    set_team(device::EmitThreadIdHere(b_));
    stream_k_.EmitSums([&](Value* first) { EmitStage(first); });
  });
  set_team(thread_);
}

}  // namespace

void EmitWarpgroupMatmul(MatmulFrame& matmul) {
  llvm::IRBuilderBase& b = matmul.b();
  WarpgroupStages stages(matmul);
  StreamK stream_k(matmul);
  WarpgroupProducer producer(matmul, stream_k, stages);
  Consumer consumer(matmul, stream_k, stages);
  stages.EmitInit(producer.Fillers());
  Value* multiplies =
      b.CreateICmpULT(matmul.thread(), b.getInt32(matmul.tile().parts() * kWarpgroupThreads), "multiplies");
  EmitIf(b, b.CreateNot(multiplies), "producer", [&] { producer.Emit(); });
  EmitIf(b, multiplies, "consumers", [&] { consumer.Emit(); });
  if (!matmul.version().cooperative) return;
  stream_k.EmitGridSync();
  EmitIf(b, multiplies, "adders", [&] { stream_k.EmitFixup(); });
}

}  // namespace tailor::cuda
