#include "codegen/cuda/gemm/matmul_epilogue.h"

#include <algorithm>
#include <cassert>
#include <vector>

#include "codegen/cuda/device_ir/unroll.h"
#include "codegen/ir/emit_loop.h"
#include "llvm/Analysis/VectorUtils.h"

namespace tailor::cuda {
namespace {

using llvm::Value;

constexpr int kAccessBytes = 16;  // the widest access of memory

// The sums rounded to the dtype of the plan's buffer (f16, bf16), unless they are.
Value* Rounded(MatmulFrame& matmul, Value* sum) {
  const Contraction& c = matmul.contraction();
  const DType dtype = matmul.plan().buffers[c.sums].dtype;
  if (dtype == c.accumulate || matmul.tile().rounds_sums) return sum;
  llvm::IRBuilderBase& b = matmul.b();
  return FromMemory(b, dtype, ToMemory(b, dtype, sum));
}

// The sums of `lanes` columns from `column` on, added over slices in order; a vector if `lanes` > 1.
Value* EmitSum(MatmulFrame& matmul, Value* row, Value* column, int lanes) {
  llvm::IRBuilderBase& b = matmul.b();
  const DType accumulate = matmul.types().accumulate, rounded = matmul.types().rounded;
  if (matmul.tile().rounds_sums) {
    llvm::Type* type = MemoryType(b.getContext(), rounded, lanes);
    Value* address = StagedSum(matmul, row, column);
    return FromMemory(b, rounded, b.CreateAlignedLoad(type, address, llvm::Align(lanes * SizeOf(rounded)), "rounded"));
  }
  const int piece = std::min<int>(lanes, kAccessBytes / SizeOf(accumulate));
  llvm::Type* type = RegisterType(b.getContext(), accumulate, piece);
  Value* sum = nullptr;
  for (int slice = 0; slice < matmul.tile().slices; ++slice) {
    std::vector<Value*> pieces;
    for (int lane = 0; lane < lanes; lane += piece) {
      Value* address = StagedSum(matmul, row, b.CreateAdd(column, b.getInt32(lane)), b.getInt32(slice));
      pieces.push_back(b.CreateAlignedLoad(type, address, llvm::Align(piece * SizeOf(accumulate)), "part"));
    }
    Value* part = pieces.size() == 1 ? pieces[0] : llvm::concatenateVectors(b, pieces);
    sum = sum == nullptr ? part : IsFloat(accumulate) ? b.CreateFAdd(sum, part, "sum") : b.CreateAdd(sum, part, "sum");
  }
  return sum;
}

}  // namespace

void EmitMatmulElement(MatmulFrame& matmul, Value* row, Value* column, Value* sum) {
  llvm::IRBuilderBase& b = matmul.b();
  const KernelPlan& plan = matmul.plan();
  const Contraction& c = matmul.contraction();
  ScalarEmitter& scalars = matmul.scalars();
  const auto* vector = llvm::dyn_cast<llvm::FixedVectorType>(sum->getType());
  scalars.SetAxis(c.m, b.CreateAdd(matmul.first_row(), row, "m"));
  scalars.SetLanes(c.n, b.CreateAdd(matmul.first_column(), column, "n"),
                   vector == nullptr ? 1 : static_cast<int>(vector->getNumElements()), nullptr);
  scalars.SetLocal(c.sums, Rounded(matmul, sum));
  for (size_t stage = c.stage + 1; stage < plan.stages.size(); ++stage) {
    for (const Statement& s : plan.stages[stage].statements) {
      scalars.Store(s.buffer, s.indices, scalars.Emit(s.value));
    }
  }
  scalars.SetLanes(c.n, b.getInt64(0), 1, nullptr);
}

int FastDimSize(const MatmulFrame& matmul) {
  return matmul.types().stores_along_rows ? matmul.tile().rows : matmul.tile().columns;
}

namespace {

llvm::Type* StagedType(MatmulFrame& matmul) {
  return matmul.b().getIntNTy(8 * StagedBytes(matmul.tile(), matmul.types()));
}

Value* StagedAddress(MatmulFrame& matmul, Value* row, Value* column) {
  llvm::IRBuilderBase& b = matmul.b();
  Value* offset = b.CreateNUWMul(row, b.getInt32(StagedRow(matmul.tile(), matmul.types())));
  return b.CreateInBoundsGEP(StagedType(matmul), matmul.team().staged, b.CreateNUWAdd(offset, column), "staged.sum");
}

}  // namespace

// XOR swizzle: odd groups of 32 columns swap neighbouring chunks of four words. A thread that reads eight words takes
// two chunks; without the swap four of eight such threads would hit the banks of the other four.
Value* StagedSum(MatmulFrame& matmul, Value* row, Value* column, Value* slice) {
  llvm::IRBuilderBase& b = matmul.b();
  const MatmulTile& tile = matmul.tile();
  if (slice != nullptr) row = b.CreateNUWAdd(row, b.CreateNUWMul(slice, b.getInt32(tile.pass_rows)));
  if (SwizzlesStagedSums(tile, matmul.types())) {
    column = b.CreateXor(column, b.CreateAnd(b.CreateLShr(column, 3), 4, "swapped"), "column.staged");
  }
  return StagedAddress(matmul, row, column);
}

Value* StagedSumInEight(MatmulFrame& matmul, Value* row, int eight, Value* column) {
  llvm::IRBuilderBase& b = matmul.b();
  if (SwizzlesStagedSums(matmul.tile(), matmul.types())) column = b.CreateXor(column, eight & 4, "column.staged");
  return b.CreateConstInBoundsGEP1_32(StagedType(matmul), StagedAddress(matmul, row, column), 8 * eight, "staged.sum");
}

namespace {

// Turns of a thread that are in flight together. Until the last pass, waiting sums take registers: with two warpgroups,
// those in f32 take most of the 168 per thread.
int Turns(const MatmulTile& tile, int lanes) {
  const bool whole = tile.pass_rows == tile.rows;
  if (tile.kind == MatmulTile::Kind::kWarpgroup && !whole) return 1;
  return lanes == 1 && whole ? 4 : 2;
}

// The elements of the pass whose first row is `first` (i64, in the tile), `lanes` neighbouring columns at once. A
// thread has one column, or run of columns, and strided rows of it. If outputs are contiguous along rows: one row and
// strided columns.
void EmitPass(MatmulFrame& matmul, Value* first, int lanes, TakeSum take) {
  llvm::IRBuilderBase& b = matmul.b();
  const MatmulTile& tile = matmul.tile();
  const bool along_rows = matmul.types().stores_along_rows;
  const int threads = matmul.team().threads;
  const int fast = along_rows ? tile.pass_rows : tile.columns / lanes,
            slow = along_rows ? tile.columns : tile.pass_rows;
  assert(threads % fast == 0 && (lanes == 1 || !along_rows));
  const auto narrow = [&](Value* value) { return b.CreateTrunc(value, b.getInt32Ty()); };
  const auto wide = [&](Value* value) { return b.CreateZExt(value, b.getInt64Ty()); };
  Value* rows_left = b.CreateSub(matmul.rows(), b.CreateAdd(matmul.first_row(), first, "pass.row"), "rows.left");
  Value* columns_left = b.CreateSub(matmul.columns(), matmul.first_column(), "columns.left");
  Value* own = b.CreateURem(matmul.team().thread, b.getInt32(fast), "fast");
  own = wide(b.CreateNUWMul(own, b.getInt32(lanes), "fast.first"));
  Value* start = wide(b.CreateUDiv(matmul.team().thread, b.getInt32(fast), "slow"));
  Value* end = b.CreateBinaryIntrinsic(llvm::Intrinsic::smin, along_rows ? columns_left : rows_left, b.getInt64(slow),
                                       nullptr, "slow.end");
  EmitIf(b, b.CreateICmpSLT(own, along_rows ? rows_left : columns_left, "exists"), "epilogue", [&] {
    llvm::BasicBlock* latch = nullptr;
    EmitLoop(b, start, end, threads / fast, "element", [&](Value* at) {
      Value *row = along_rows ? own : at, *column = along_rows ? at : own;
      Value* sum = EmitSum(matmul, narrow(row), narrow(column), lanes);
      take(b.CreateAdd(first, row, "row"), column, sum);
      latch = b.GetInsertBlock();
    });
    SetUnroll(latch, Turns(tile, lanes));
  });
}

}  // namespace

// One loop for vectors and one for single elements, as only one of them needs its registers beside the waiting sums.
void EmitPasses(MatmulFrame& matmul, llvm::function_ref<void(Value* first)> stage, TakeSum take) {
  llvm::IRBuilderBase& b = matmul.b();
  const MatmulTile& tile = matmul.tile();
  matmul.EmitWithLanes([&](int lanes) {
    EmitLoop(b, b.getInt64(0), b.getInt64(tile.rows), tile.pass_rows, "pass", [&](Value* pass) {
      matmul.team().sync();
      stage(b.CreateTrunc(pass, b.getInt32Ty(), "pass.first"));
      matmul.team().sync();
      EmitPass(matmul, pass, lanes, take);
    });
  });
}

}  // namespace tailor::cuda
