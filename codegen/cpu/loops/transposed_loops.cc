#include "codegen/cpu/loops/transposed_loops.h"

#include <algorithm>
#include <numeric>
#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "codegen/cpu/loops/reading_order.h"
#include "codegen/ir/digits.h"
#include "codegen/ir/emit_loop.h"
#include "codegen/ir/transpose_square.h"
#include "codegen/plan/plan_queries.h"
#include "codegen/plan/transposition.h"
#include "codegen/scalar/scalar_emitter.h"

namespace tailor::cpu {
namespace {

using llvm::Value;

// Dim sizes up to which gathers are at least as fast as squares.
constexpr int64_t kShortStored = 2, kShortLoaded = 4;

// Elements per task along either axis: neighbouring squares complete the cache lines that they share.
constexpr int64_t kChunk = 64;

// Up to this many cycles per vector, the columns of a square are written by straight code.
constexpr int64_t kLight = 10;

std::optional<Transposition> FindSquares(const KernelPlan& plan) {
  constexpr size_t kMostLoads = 2;  // their squares fill the registers
  std::optional<Transposition> how = FindTransposition(plan, kShortStored, kShortLoaded);
  if (how && how->loads.size() > kMostLoads) return std::nullopt;
  return how;
}

class TransposedLoopEmitter {
 public:
  TransposedLoopEmitter(const KernelPlan& plan, const Transposition& how, const Schedule& schedule,
                        const EmitTarget& target, llvm::Module& module, const std::string& name)
      : plan_(plan),
        how_(how),
        schedule_(schedule),
        staged_(WithLocals(plan, how.loads)),
        b_(module.getContext()),
        frame_(OpenKernelFunction(b_, module, staged_, KernelSignature::OnHost(staged_, schedule), name)),
        reader_(b_, target, plan_, frame_),
        writer_(b_, target, staged_, frame_) {
    for (ExprId load : how_.loads) {
      llvm::Type* row = RegisterType(b_.getContext(), plan_.exprs[load].dtype, schedule_.lanes);
      llvm::AllocaInst* columns = b_.CreateAlloca(row, b_.getInt64(schedule_.lanes), "columns");
      columns->setAlignment(llvm::Align(64));
      columns_.push_back(columns);
    }
  }

  void Emit(const Version& version) {
    if (version.no_broadcast) {
      reader_.AssumeNoBroadcast();
      writer_.AssumeNoBroadcast();
    }
    llvm::Function* function = b_.GetInsertBlock()->getParent();
    std::vector<int> axes(plan_.axes.size());
    std::iota(axes.begin(), axes.end(), 0);
    axes = ReadingOrder(plan_, std::move(axes), how_.stored, how_.loaded);
    std::vector<Value*> steps;
    steps.reserve(axes.size());
    for (int axis : axes) steps.push_back(StepsOf(axis));
    Digits digits(b_, function->getArg(1), steps);
    EmitLoop(b_, function->getArg(1), function->getArg(2), 1, "task", [&](Value*) {
      const std::vector<Value*> task = digits.Emit();
      digits.EmitAdvance();
      Span stored, loaded;
      for (size_t i = 0; i < axes.size(); ++i) {
        if (axes[i] == how_.stored) {
          stored = SpanOf(axes[i], task[i]);
        } else if (axes[i] == how_.loaded) {
          loaded = SpanOf(axes[i], task[i]);
        } else {
          reader_.SetAxis(axes[i], task[i]);
          writer_.SetAxis(axes[i], task[i]);
        }
      }
      EmitSquares(stored, loaded);
    });
    b_.CreateRetVoid();
  }

 private:
  // The range [first, end) of an axis.
  struct Span {
    Value *first = nullptr, *end = nullptr;
  };

  Value* DimSizeOf(int axis) { return frame_.DimSizeValue(b_, plan_.axes[axis].dim_size); }

  // Elements of `axis` per task; 0 for an axis that is not chunked.
  int64_t ChunkOf(int axis) const {
    if (axis == how_.stored) return schedule_.lane_chunk;
    return axis == how_.loaded ? schedule_.cross_chunk : 0;
  }

  Value* StepsOf(int axis) {
    const int64_t chunk = ChunkOf(axis);
    if (chunk == 0) return DimSizeOf(axis);
    return b_.CreateUDiv(b_.CreateAdd(DimSizeOf(axis), b_.getInt64(chunk - 1)), b_.getInt64(chunk), "chunks");
  }

  Span SpanOf(int axis, Value* number) {
    Value* chunk = b_.getInt64(ChunkOf(axis));
    Value* first = b_.CreateMul(number, chunk, "first");
    Value* end =
        b_.CreateBinaryIntrinsic(llvm::Intrinsic::smin, DimSizeOf(axis), b_.CreateAdd(first, chunk), nullptr, "end");
    return {first, end};
  }

  void EmitSquares(const Span& stored, const Span& loaded) {
    const int64_t lanes = schedule_.lanes;
    EmitLoop(b_, stored.first, stored.end, lanes, "stored", [&](Value* q) {
      EmitLoop(b_, loaded.first, loaded.end, lanes, "loaded", [&](Value* p) {
        Value *rows = b_.CreateSub(stored.end, q, "rows"), *columns = b_.CreateSub(loaded.end, p, "columns");
        Value* least = b_.CreateBinaryIntrinsic(llvm::Intrinsic::smin, rows, columns, nullptr, "least");
        Value* whole = b_.CreateICmpSGE(least, b_.getInt64(lanes), "whole");
        EmitIf(b_, whole, "square", [&] { EmitSquare({q, nullptr}, {p, nullptr}); });
        EmitIf(b_, b_.CreateNot(whole), "part", [&] { EmitSquare({q, rows}, {p, columns}); });
      });
    });
  }

  // One side of a square: as many elements from `first` on as there are lanes, at most `left` (null: no limit).
  struct Side {
    Value* first;
    Value* left;
  };

  // Upper bound of the active lanes along `axis`.
  int MostLanes(int axis) const {
    return static_cast<int>(std::min<int64_t>(schedule_.lanes, MaxOf(plan_, plan_.axes[axis].dim_size)));
  }

  Value* MaskOf(const Side& side) {
    return side.left == nullptr ? nullptr : EmitFirstLanes(b_, schedule_.lanes, side.left);
  }

  void EmitSquare(const Side& stored, const Side& loaded) {
    std::vector<std::vector<Value*>> squares = EmitRows(stored, loaded);
    for (std::vector<Value*>& square : squares) {
      square.resize(schedule_.lanes, llvm::PoisonValue::get(square[0]->getType()));
      TransposeSquare(b_, square);
    }
    writer_.SetLanes(how_.stored, stored.first, schedule_.lanes, MaskOf(stored));
    if (schedule_.unroll > 1 && loaded.left == nullptr) {
      for (int column = 0; column < schedule_.lanes; ++column) {
        EmitColumn(loaded, b_.getInt64(column), [&](size_t load) { return squares[load][column]; });
      }
    } else {
      EmitColumnLoop(loaded, squares);
    }
    writer_.SetLanes(how_.stored, b_.getInt64(0), 1, nullptr);
  }

  // The rows of the square, by load. Rows beyond the tensor repeat its last row.
  std::vector<std::vector<Value*>> EmitRows(const Side& stored, const Side& loaded) {
    std::vector<std::vector<Value*>> squares(how_.loads.size());
    Value* mask = MaskOf(loaded);
    for (int row = 0; row < MostLanes(how_.stored); ++row) {
      Value* number = b_.getInt64(row);
      if (stored.left != nullptr) {
        Value* last = b_.CreateSub(stored.left, b_.getInt64(1), "last");
        number = b_.CreateBinaryIntrinsic(llvm::Intrinsic::smin, number, last, nullptr, "row");
      }
      reader_.SetAxis(how_.stored, b_.CreateAdd(stored.first, number));
      reader_.SetLanes(how_.loaded, loaded.first, schedule_.lanes, mask);
      for (size_t i = 0; i < how_.loads.size(); ++i) squares[i].push_back(reader_.EmitLanes(how_.loads[i]));
    }
    reader_.SetLanes(how_.loaded, b_.getInt64(0), 1, nullptr);
    return squares;
  }

  void EmitColumnLoop(const Side& loaded, const std::vector<std::vector<Value*>>& squares) {
    const auto cell = [&](size_t load, Value* column) {
      return b_.CreateInBoundsGEP(squares[load][0]->getType(), columns_[load], column, "column");
    };
    for (size_t load = 0; load < squares.size(); ++load) {
      for (int column = 0; column < MostLanes(how_.loaded); ++column) {
        b_.CreateStore(squares[load][column], cell(load, b_.getInt64(column)));
      }
    }
    Value* lanes = b_.getInt64(schedule_.lanes);
    Value* end = loaded.left == nullptr ? lanes : b_.CreateBinaryIntrinsic(llvm::Intrinsic::smin, loaded.left, lanes);
    EmitLoop(b_, b_.getInt64(0), end, 1, "column", [&](Value* column) {
      EmitColumn(loaded, column,
                 [&](size_t load) { return b_.CreateLoad(squares[load][0]->getType(), cell(load, column), "turned"); });
    });
  }

  // `value`: the column of each load.
  void EmitColumn(const Side& loaded, Value* column, llvm::function_ref<Value*(size_t)> value) {
    writer_.SetAxis(how_.loaded, b_.CreateAdd(loaded.first, column));
    for (size_t i = 0; i < how_.loads.size(); ++i) {
      writer_.SetLocal(static_cast<int>(plan_.buffers.size() + i), value(i));
    }
    for (const Statement& s : plan_.stages[0].statements) writer_.Store(s.buffer, s.indices, writer_.Emit(s.value));
  }

  const KernelPlan& plan_;
  const Transposition& how_;
  const Schedule& schedule_;
  const KernelPlan staged_;  // with the loads as locals
  llvm::IRBuilder<> b_;
  KernelFrame frame_;
  ScalarEmitter reader_, writer_;
  std::vector<Value*> columns_;  // by load: a square in memory
};

}  // namespace

bool ScheduleTransposedLoops(const KernelPlan& plan, int64_t cost, Schedule& schedule) {
  if (schedule.lanes == 1) return false;
  const std::optional<Transposition> how = FindSquares(plan);
  if (!how) return false;
  schedule.lane_axis = how->stored;
  schedule.cross_axis = how->loaded;
  schedule.lane_chunk = schedule.cross_chunk = kChunk;
  schedule.unroll = cost <= kLight ? schedule.lanes : 1;
  schedule.versions = BroadcastVersions(plan);
  schedule.scratch_bytes = 0;

  SlotExpr tasks = 1, per_task = 1;
  for (int axis = 0; axis < static_cast<int>(plan.axes.size()); ++axis) {
    const SlotExpr dim_size = OverSlots(plan.axes[axis].dim_size);
    const bool chunked = axis == how->stored || axis == how->loaded;
    tasks = tasks * (chunked ? SlotExpr::CeilDiv(dim_size, kChunk) : dim_size);
    if (chunked) per_task = per_task * SlotExpr::Min(dim_size, kChunk);
  }
  constexpr int64_t kTurning = 6;  // to transpose, per vector
  const int64_t elements_per_chunk = int64_t{10000} * schedule.lanes / (cost + kTurning);
  schedule.tasks = tasks;
  schedule.tasks_per_chunk = SlotExpr::Max(1, SlotExpr::FloorDiv(elements_per_chunk, SlotExpr::Max(1, per_task)));
  return true;
}

void EmitTransposedLoops(const KernelPlan& plan, const Schedule& schedule, const EmitTarget& target,
                         const std::string& name, llvm::Module& module) {
  const std::optional<Transposition> how = FindSquares(plan);
  for (size_t v = 0; v < schedule.versions.size(); ++v) {
    TransposedLoopEmitter(plan, *how, schedule, target, module, absl::StrCat(name, "_v", v)).Emit(schedule.versions[v]);
  }
}

}  // namespace tailor::cpu
