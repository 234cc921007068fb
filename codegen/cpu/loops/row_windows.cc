#include "codegen/cpu/loops/row_windows.h"

#include <algorithm>
#include <deque>
#include <vector>

#include "codegen/cpu/loops/accumulator.h"
#include "codegen/cpu/loops/window_task.h"
#include "codegen/ir/emit_loop.h"
#include "codegen/ir/memory_hints.h"
#include "codegen/plan/plan_queries.h"
#include "codegen/plan/transposition.h"
#include "codegen/scalar/scalar_emitter.h"

namespace tailor::cpu {
namespace {

using llvm::Value;

// Results per task along each side, outer first, at most.
constexpr int64_t kBlockRows = 16, kBlockColumns = 256;

// Rows of results side by side (or vectors of one row, with one side): enough independent multiply-add chains to keep a
// core busy.
constexpr int kSideBySide = 4;

// Vectors of each residue that are staged side by side, if a row has as many.
constexpr int kStagedSideBySide = 4;

// Elements of one residue (every stride-th element) of a staging row: those of `columns` results, and what vectors read
// beyond.
int64_t ResidueElements(const WindowSide& x, int64_t columns, int lanes) {
  return columns + x.reach() / x.stride + 2 * lanes;
}

// Staging elements for a block of `rows` x kBlockColumns results.
int64_t StagingElements(const WindowedReduction& windows, int64_t rows, int lanes) {
  const WindowSide& x = windows.sides.back();
  const int64_t residue = x.stride * ResidueElements(x, kBlockColumns, lanes);
  if (windows.sides.size() == 1) return residue;
  const WindowSide& y = windows.sides[0];
  return ((rows - 1) * y.stride + y.reach() + 1) * residue;
}

// Rows of results per block, such that the staging buffer fits any thread's stack; 0 if none does.
int64_t BlockRows(const WindowedReduction& windows, int element_bytes, int lanes) {
  constexpr int64_t kMostBytes = 64 << 10;
  for (int64_t rows = kBlockRows; rows >= kSideBySide; rows /= 2) {
    if (StagingElements(windows, rows, lanes) * element_bytes <= kMostBytes) return rows;
  }
  return 0;
}

class RowWindowEmitter : private WindowTaskEmitter {
 public:
  RowWindowEmitter(const KernelPlan& plan, const WindowedReduction& windows, const Schedule& schedule,
                   const EmitTarget& target, llvm::Module& module, const std::string& name)
      : WindowTaskEmitter(plan, windows, {windows.image}, schedule, target, module, name),
        block_rows_(BlockRows(windows, SizeOf(dtype_), lanes_)) {
    const int64_t elements = StagingElements(windows, block_rows_, lanes_);
    llvm::AllocaInst* staging =
        b_.CreateAlloca(MemoryType(b_.getContext(), dtype_, 1), b_.getInt64(elements), "staging");
    staging->setAlignment(llvm::Align(64));
    staging_ = staging;
  }

  void Emit(const Version& version) {
    EmitTasks(version, block_rows_, kBlockColumns, /*plane=*/-1, [&] {
      EmitStaging();
      EmitResults();
    });
  }

 private:
  Value* EmitResidueElements() { return b_.CreateAdd(columns_.count, I64(ResidueElements(x_, 0, lanes_)), "residue"); }

  Value* StagingAddress(Value* row, int64_t residue, Value* column) {
    Value* number = b_.CreateAdd(Times(row, x_.stride), I64(residue));
    Value* offset = b_.CreateAdd(b_.CreateMul(number, residue_), column, "staging.offset");
    return b_.CreateInBoundsGEP(MemoryType(b_.getContext(), dtype_, 1), staging_, offset, "staged");
  }

  // Fills the staging buffer, down columns of some vectors: the masks of the lanes are computed once per column, and
  // whether a row lies in the padding once for the vectors side by side.
  void EmitStaging() {
    residue_ = EmitResidueElements();
    Value* rows =
        b_.CreateAdd(Times(b_.CreateSub(rows_.count, I64(1)), y_.stride), I64(y_.reach() + 1), "staging.rows");
    const auto columns_of = [&](Value* results) {  // read by the windows of so many results
      return b_.CreateAdd(Times(b_.CreateSub(results, I64(1)), x_.stride), I64(x_.reach() + 1), "staging.columns");
    };
    Value* columns = columns_of(columns_.count);
    // Idle lanes of the last vector read columns behind those. They are filled with zeros: what the stack held before
    // may be denormals, on which arithmetic is slow.
    Value* whole = b_.CreateAnd(b_.CreateAdd(columns_.count, I64(lanes_ - 1)), I64(-lanes_));
    Value* staged = columns_of(whole);
    for (const WindowSide& side : windows_.sides) reader_.SetAxis(side.origin(), I64(0));
    const int64_t step = lanes_ * x_.stride;
    Value* next = I64(0);
    for (int count = kStagedSideBySide; count > 0; count /= 2) {
      Value* end = b_.CreateSub(staged, I64((count - 1) * step));
      next = EmitLoop(b_, next, end, count * step, "staging.lanes",
                      [&](Value* column) { EmitStagingColumn(rows, column, columns, count); });
    }
  }

  // Stages `count` vectors of each residue, from `column` of the block's image on.
  void EmitStagingColumn(Value* rows, Value* column, Value* columns, int count) {
    std::vector<Value*> masks;
    for (int64_t part = 0; part < count * x_.stride; ++part) {
      Value* left = b_.CreateSub(columns, b_.CreateAdd(column, I64(part * lanes_)));
      masks.push_back(EmitFirstLanes(b_, lanes_, b_.CreateBinaryIntrinsic(llvm::Intrinsic::smax, left, I64(0))));
    }
    EmitLoop(b_, I64(0), rows, 1, "staging.row", [&](Value* row) {
      if (has_rows()) {
        reader_.SetAxis(y_.position(), b_.CreateAdd(Times(rows_.first, y_.stride), row));
      }
      std::vector<Value*> parts;
      for (int64_t part = 0; part < count * x_.stride; ++part) {
        Value* first = b_.CreateAdd(Times(columns_.first, x_.stride), b_.CreateAdd(column, I64(part * lanes_)));
        reader_.SetLanes(x_.position(), first, lanes_, masks[part]);
        parts.push_back(ToMemory(b_, dtype_, reader_.EmitLanes(windows_.image)));
        // The next column. Hardware does not prefetch strips of a few lines, a row apart.
        const int64_t bytes = lanes_ * SizeOf(dtype_), of_column = count * x_.stride * bytes;
        if (count == kStagedSideBySide && part * bytes % kLineBytes == 0) EmitFetchAhead(of_column);
      }
      reader_.SetLanes(x_.position(), I64(0), 1, nullptr);
      Value* place = b_.CreateUDiv(column, I64(x_.stride));
      for (int64_t v = 0; v < count; ++v) {
        const llvm::ArrayRef<Value*> of_vector(parts.data() + v * x_.stride, x_.stride);
        for (int64_t residue = 0; residue < x_.stride; ++residue) {
          Value* address = StagingAddress(row, residue, b_.CreateAdd(place, I64(v * lanes_)));
          b_.CreateAlignedStore(Residue(of_vector, residue), address, llvm::Align(SizeOf(dtype_)));
        }
      }
    });
  }

  // Every stride-th lane of `parts` from lane `residue` on.
  Value* Residue(llvm::ArrayRef<Value*> parts, int64_t residue) {
    if (parts.size() == 1) return parts[0];
    llvm::SmallVector<int> lanes;
    for (int lane = 0; lane < lanes_; ++lane) lanes.push_back(static_cast<int>(residue) + 2 * lane);
    return b_.CreateShuffleVector(parts[0], parts[1], lanes, "residue");
  }

  void EmitResults() {
    const bool down = has_rows();
    Value* next = I64(0);
    for (int rows : down ? std::vector<int>{kSideBySide, 2, 1} : std::vector<int>{1}) {
      Value* end = b_.CreateSub(rows_.count, I64(rows - 1));
      next = EmitLoop(b_, next, end, rows, "rows",
                      [&](Value* row) { EmitRowsOfResults(row, rows, down ? 1 : kSideBySide); });
    }
  }

  void EmitRowsOfResults(Value* row, int rows, int vectors) {
    Value* next = I64(0);
    for (int count = vectors; count > 0; count = count > 1 ? 1 : 0) {
      Value* end = b_.CreateSub(columns_.count, I64(count * lanes_ - 1));
      next = EmitLoop(b_, next, end, count * lanes_, "columns",
                      [&](Value* column) { EmitVectors(row, rows, column, count, nullptr); });
    }
    EmitIf(b_, b_.CreateICmpSLT(next, columns_.count), "rest",
           [&] { EmitVectors(row, rows, next, 1, EmitFirstLanes(b_, lanes_, b_.CreateSub(columns_.count, next))); });
  }

  // Whether the weights of a window fit in registers. If not, each multiply-add loads its weight as a memory operand:
  // fences between rows of the image keep LLVM from holding all weights at once and spilling them.
  bool WeightsFitRegisters() const { return y_.size * x_.size <= (target_.avx512 ? 16 : 9); }

  // `rows` x `vectors` vectors of results, from (row, column) of the block on.
  void EmitVectors(Value* row, int rows, Value* column, int vectors, Value* mask) {
    const Statement& s = staged_.stages[0].statements[0];
    std::deque<Accumulator> sums;
    for (int i = 0; i < rows * vectors; ++i) sums.emplace_back(b_, target_, s, /*scans=*/false, 1, lanes_);
    const auto enter = [&](int r, int v) {
      if (has_rows()) {
        writer_.SetAxis(y_.result, b_.CreateAdd(rows_.first, b_.CreateAdd(row, I64(r)), "y"));
      }
      Value* x = b_.CreateAdd(columns_.first, b_.CreateAdd(column, I64(int64_t{v} * lanes_)), "x");
      writer_.SetLanes(x_.result, x, lanes_, mask);
    };
    if (windows_.is_long()) {
      AddRowByRow(row, rows, column, sums, enter);
    } else {
      AddStraight(row, rows, column, vectors, sums, enter);
    }
    for (int i = 0; i < rows * vectors; ++i) {
      sums[i].EndStep();
      Value* result = sums[i].Close(/*across_lanes=*/false);
      const DType stored = staged_.buffers[s.buffer].dtype;
      if (stored != s.accumulate) result = EmitScalarOp(b_, target_, OpKind::kCast, s.accumulate, stored, {result});
      enter(i / vectors, i % vectors);
      writer_.SetLocal(s.buffer, result);
      EmitLaterStages();
    }
    writer_.SetLanes(x_.result, I64(0), 1, nullptr);
  }

  using Enter = absl::FunctionRef<void(int row, int vector)>;  // places writer_ at a vector of results

  // The value that a window's element at (along, step) contributes, where the image has `image`.
  Value* EmitElement(Value* image, Value* along, int64_t step) {
    if (has_rows()) writer_.SetAxis(y_.window, along);
    writer_.SetAxis(x_.window, I64(step));
    writer_.SetLocal(static_cast<int>(plan_.buffers.size()), image);
    return writer_.EmitLanes(staged_.stages[0].statements[0].value);
  }

  // Straight code: each vector of the image is loaded once for all windows that it is in.
  void AddStraight(Value* row, int rows, Value* column, int vectors, std::deque<Accumulator>& sums, Enter enter) {
    for (int64_t q = 0; q <= (rows - 1) * y_.stride + y_.reach(); ++q) {
      if (!WeightsFitRegisters()) EmitOrderOfReads(b_);
      Value* image_row = b_.CreateAdd(Times(row, y_.stride), I64(q));
      for (int64_t j = 0; j < x_.size; ++j) {
        for (int v = 0; v < vectors; ++v) {
          Value* image = nullptr;
          for (int r = 0; r < rows; ++r) {
            const int64_t along = q - r * y_.stride;
            if (along < 0 || along > y_.reach() || along % y_.dilation != 0) continue;
            if (image == nullptr) image = EmitImage(image_row, j, b_.CreateAdd(column, I64(int64_t{v} * lanes_)));
            enter(r, v);
            sums[r * vectors + v].Add(EmitElement(image, I64(along / y_.dilation), j), 0, nullptr);
          }
        }
      }
    }
  }

  // A loop over the rows of the windows: each window reads its own row of the image, and shares the weights.
  void AddRowByRow(Value* row, int rows, Value* column, std::deque<Accumulator>& sums, Enter enter) {
    EmitLoop(b_, I64(0), I64(y_.size), 1, "window.row", [&](Value* along) {
      for (int64_t j = 0; j < x_.size; ++j) {
        for (int r = 0; r < rows; ++r) {
          Value* image_row = Times(b_.CreateAdd(row, I64(r)), y_.stride);
          image_row = b_.CreateAdd(image_row, Times(along, y_.dilation));
          enter(r, 0);
          sums[r].Add(EmitElement(EmitImage(image_row, j, column), along, j), 0, nullptr);
        }
      }
      for (int r = 0; r < rows; ++r) sums[r].EndStep();
    });
    writer_.Forget();  // values of the loop
  }

  Value* EmitImage(Value* row, int64_t step, Value* column) {
    const int64_t along = step * x_.dilation;
    Value* address = StagingAddress(row, along % x_.stride, b_.CreateAdd(column, I64(along / x_.stride)));
    return FromMemory(b_, dtype_, b_.CreateAlignedLoad(vector_, address, llvm::Align(SizeOf(dtype_)), "image"));
  }

  void EmitLaterStages() {
    for (size_t stage = 1; stage < staged_.stages.size(); ++stage) {
      for (const Statement& s : staged_.stages[stage].statements) {
        Value* value = writer_.Emit(s.value);
        if (staged_.buffers[s.buffer].kind == BufferKind::kLocal) {
          writer_.SetLocal(s.buffer, value);
        } else {
          writer_.Store(s.buffer, s.indices, value);
        }
      }
    }
  }

  const int64_t block_rows_;
  Value* staging_ = nullptr;
  Value* residue_ = nullptr;  // elements of a residue of a staging row, in the current task
};

}  // namespace

int64_t RowBlock(const KernelPlan& plan, const WindowedReduction& windows, size_t side, int lanes) {
  const int64_t rows = BlockRows(windows, SizeOf(plan.exprs[windows.image].dtype), lanes);
  return side + 1 < windows.sides.size() || rows == 0 ? rows : kBlockColumns;
}

void EmitRowWindows(const KernelPlan& plan, const WindowedReduction& windows, const Schedule& schedule,
                    const Version& version, const EmitTarget& target, const std::string& name, llvm::Module& module) {
  RowWindowEmitter(plan, windows, schedule, target, module, name).Emit(version);
}

}  // namespace tailor::cpu
