#include "codegen/cuda/loops/transpose_tiles.h"

#include "codegen/cuda/device_ir/device_intrinsics.h"
#include "codegen/cuda/frame/frame.h"
#include "codegen/cuda/schedule/transposed_tiles.h"
#include "codegen/ir/emit_loop.h"
#include "codegen/scalar/scalar_emitter.h"
#include "llvm/IR/IRBuilder.h"

namespace tailor::cuda {
namespace {

using llvm::Value;

constexpr int kRowThreads = kTransposeThreads / kTransposeTile;  // rows of a tile processed at once

class TransposeEmitter {
 public:
  TransposeEmitter(const KernelPlan& plan, const Transposition& how, const CudaVersion& version, llvm::Module& module,
                   const std::string& name)
      : plan_(plan),
        how_(how),
        staged_(WithLocals(plan, how.loads)),
        b_(module.getContext()),
        frame_(OpenCudaKernel(b_, module, staged_, version, name)),
        reader_(b_, target_, plan_, frame_),
        writer_(b_, target_, staged_, frame_) {
    Value* thread = b_.CreateZExt(device::EmitThreadId(b_), b_.getInt64Ty(), "thread");
    column_ = b_.CreateAnd(thread, kTransposeTile - 1, "column");
    row_ = b_.CreateLShr(thread, 5, "row");
    Value* next = device::EmitSharedMemory(b_);
    for (ExprId load : how_.loads) {
      tiles_.push_back(next);
      next = b_.CreateConstInBoundsGEP1_64(MemoryTypeOf(load), next, kTransposeTileElements, "tile.next");
    }
  }

  void Emit() {
    Value* tiles = b_.getInt64(1);
    for (int axis = 0; axis < static_cast<int>(plan_.axes.size()); ++axis) {
      tiles = b_.CreateMul(tiles, StepsOf(axis), "tiles");
    }
    Value* block = b_.CreateZExt(device::EmitBlockId(b_), b_.getInt64Ty(), "block");
    Value* blocks = b_.CreateZExt(device::EmitGridDim(b_), b_.getInt64Ty(), "blocks");
    EmitLoop(b_, block, tiles, blocks, "tile", [&](Value* tile) {
      SetTile(tile);
      EmitRows([&](Value* row) { Stage(row); });
      device::EmitBarrier(b_);
      EmitRows([&](Value* row) { Write(row); });
      device::EmitBarrier(b_);  // the next tile reuses the memory
    });
    b_.CreateRetVoid();
  }

 private:
  llvm::Type* MemoryTypeOf(ExprId load) { return MemoryType(b_.getContext(), plan_.exprs[load].dtype, 1); }
  Value* DimSizeOf(int axis) { return frame_.DimSizeValue(b_, plan_.axes[axis].dim_size); }
  bool IsTiled(int axis) const { return axis == how_.stored || axis == how_.loaded; }

  // Steps of a tile's number along `axis`: of tiles, or of elements.
  Value* StepsOf(int axis) {
    if (!IsTiled(axis)) return DimSizeOf(axis);
    Value* rounded = b_.CreateAdd(DimSizeOf(axis), b_.getInt64(kTransposeTile - 1));
    return b_.CreateLShr(rounded, 5, "steps");
  }

  void SetTile(Value* tile) {
    for (int axis = static_cast<int>(plan_.axes.size()) - 1; axis >= 0; --axis) {
      Value* digit = b_.CreateURem(tile, StepsOf(axis), "digit");
      tile = b_.CreateUDiv(tile, StepsOf(axis), "rest");
      if (axis == how_.stored) {
        first_stored_ = b_.CreateShl(digit, 5, "first.stored");
      } else if (axis == how_.loaded) {
        first_loaded_ = b_.CreateShl(digit, 5, "first.loaded");
      } else {
        reader_.SetAxis(axis, digit);
        writer_.SetAxis(axis, digit);
      }
    }
  }

  // Runs `body` for each row of the tile that this thread has.
  void EmitRows(llvm::function_ref<void(Value* row)> body) {
    for (int row = 0; row < kTransposeTile; row += kRowThreads) {
      body(b_.CreateAdd(row_, b_.getInt64(row), "tile.row"));
    }
  }

  Value* InTile(Value* stored, Value* loaded) {
    return b_.CreateAnd(b_.CreateICmpSLT(stored, DimSizeOf(how_.stored)),
                        b_.CreateICmpSLT(loaded, DimSizeOf(how_.loaded)), "in_tile");
  }

  Value* Cell(size_t load, Value* row, Value* column) {
    Value* offset = b_.CreateAdd(b_.CreateMul(row, b_.getInt64(kTransposeTile + 1)), column, "cell.offset");
    return b_.CreateInBoundsGEP(MemoryTypeOf(how_.loads[load]), tiles_[load], offset, "cell");
  }

  // Neighbouring threads load along how_.loaded.
  void Stage(Value* row) {
    Value* stored = b_.CreateAdd(first_stored_, row, "stored");
    Value* loaded = b_.CreateAdd(first_loaded_, column_, "loaded");
    EmitIf(b_, InTile(stored, loaded), "stage", [&] {
      reader_.SetAxis(how_.stored, stored);
      reader_.SetAxis(how_.loaded, loaded);
      for (size_t i = 0; i < how_.loads.size(); ++i) {
        const DType dtype = plan_.exprs[how_.loads[i]].dtype;
        Value* value = ToMemory(b_, dtype, reader_.Emit(how_.loads[i]));
        b_.CreateAlignedStore(value, Cell(i, row, column_), llvm::Align(SizeOf(dtype)));
      }
      reader_.Forget();
    });
  }

  // Neighbouring threads store along how_.stored.
  void Write(Value* row) {
    Value* stored = b_.CreateAdd(first_stored_, column_, "stored");
    Value* loaded = b_.CreateAdd(first_loaded_, row, "loaded");
    EmitIf(b_, InTile(stored, loaded), "write", [&] {
      writer_.SetAxis(how_.stored, stored);
      writer_.SetAxis(how_.loaded, loaded);
      for (size_t i = 0; i < how_.loads.size(); ++i) {
        const DType dtype = plan_.exprs[how_.loads[i]].dtype;
        Value* bits = b_.CreateAlignedLoad(MemoryTypeOf(how_.loads[i]), Cell(i, column_, row),
                                           llvm::Align(SizeOf(dtype)), "staged");
        writer_.SetLocal(static_cast<int>(plan_.buffers.size() + i), FromMemory(b_, dtype, bits));
      }
      for (const Statement& s : plan_.stages[0].statements) writer_.Store(s.buffer, s.indices, writer_.Emit(s.value));
      writer_.Forget();
    });
  }

  const EmitTarget target_{.fma = true};
  const KernelPlan& plan_;
  const Transposition& how_;
  const KernelPlan staged_;  // with the loads as locals
  llvm::IRBuilder<> b_;
  KernelFrame frame_;
  ScalarEmitter reader_, writer_;
  Value *row_ = nullptr, *column_ = nullptr;  // this thread's first, in a tile as it is read or written
  std::vector<Value*> tiles_;                 // by load
  Value *first_stored_ = nullptr, *first_loaded_ = nullptr;
};

}  // namespace

void EmitTransposition(const KernelPlan& plan, const CudaVersion& version, llvm::Module& module,
                       const std::string& name) {
  TransposeEmitter(plan, *TransposedTiles(plan), version, module, name).Emit();
}

}  // namespace tailor::cuda
