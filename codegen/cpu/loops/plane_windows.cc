#include "codegen/cpu/loops/plane_windows.h"

#include <algorithm>
#include <deque>
#include <vector>

#include "codegen/cpu/loops/accumulator.h"
#include "codegen/cpu/loops/window_task.h"
#include "codegen/ir/emit_loop.h"
#include "codegen/ir/memory_hints.h"
#include "codegen/ir/transpose_square.h"
#include "codegen/plan/contraction.h"
#include "codegen/plan/plan_queries.h"
#include "codegen/plan/transposition.h"
#include "codegen/scalar/scalar_emitter.h"

namespace tailor::cpu {
namespace {

using llvm::Value;

// Between staged rows lie some elements: rows at a distance of a power of two would share a set of a cache.
constexpr int64_t kBetweenRows = 2;

struct StagingSize {
  int64_t columns, bytes;
  int64_t most_pitch() const { return columns + kBetweenRows; }
};

// The most elements of a staged row and bytes of the buffer, which fits any thread's stack beside results and weights.
// Rows are whole squares. Where planes are adjacent in memory, shorter rows cost nothing, and the buffer stays in L1.
StagingSize StagingSizeOf(const WindowedReduction& windows) {
  if (windows.is_channels_last()) return {.columns = 32, .bytes = 28 << 10};
  return {.columns = 64, .bytes = 56 << 10};
}

// Results of a row at a time: independent chains of multiply-adds, and readers of a weight in a register.
constexpr int kManyResults = 8, kFewResults = 4;

bool DependsOnSteps(const KernelPlan& plan, const WindowedReduction& windows, ExprId id) {
  return std::any_of(windows.sides.begin(), windows.sides.end(),
                     [&](const WindowSide& side) { return DependsOn(plan, id, side.window); });
}

// The subexpressions that a window combines with its image, one value per step: weights.
void FindWeights(const KernelPlan& plan, const WindowedReduction& windows, ExprId id, std::vector<ExprId>& weights) {
  if (id == windows.image) return;
  const Expr& e = plan.exprs[id];
  const bool has_image = [&] {
    std::vector<ExprId> pending = {id};
    while (!pending.empty()) {
      const ExprId next = pending.back();
      pending.pop_back();
      if (next == windows.image) return true;
      const std::vector<ExprId>& args = plan.exprs[next].args;
      pending.insert(pending.end(), args.begin(), args.end());
    }
    return false;
  }();
  if (has_image) {
    for (ExprId arg : e.args) FindWeights(plan, windows, arg, weights);
  } else if (DependsOnSteps(plan, windows, id) && std::find(weights.begin(), weights.end(), id) == weights.end()) {
    weights.push_back(id);
  }
}

std::vector<ExprId> WeightsOf(const KernelPlan& plan, const WindowedReduction& windows) {
  std::vector<ExprId> weights;
  FindWeights(plan, windows, plan.stages[0].statements[0].value, weights);
  return weights;
}

// Whether every load of `id` besides the image is of one plane's value or of one step's weights.
bool LoadsPlaneValues(const KernelPlan& plan, const WindowedReduction& windows, ExprId id) {
  if (id == windows.image) return true;
  const Expr& e = plan.exprs[id];
  if (e.kind == ExprKind::kLoad && plan.buffers[e.ref].kind != BufferKind::kLocal) {
    if (std::any_of(windows.sides.begin(), windows.sides.end(),
                    [&](const WindowSide& side) { return DependsOn(plan, id, side.result); }))
      return false;
  }
  return std::all_of(e.args.begin(), e.args.end(), [&](ExprId arg) { return LoadsPlaneValues(plan, windows, arg); });
}

// Whether the planes of each load of `id` are adjacent.
bool LiesAlongPlanes(const KernelPlan& plan, ExprId id, int plane) {
  const Expr& e = plan.exprs[id];
  if (e.kind == ExprKind::kLoad) {
    if (e.args.empty()) return true;
    const Expr& last = plan.exprs[e.args.back()];
    return last.kind == ExprKind::kAxis && last.ref == plane;
  }
  return std::all_of(e.args.begin(), e.args.end(), [&](ExprId arg) { return LiesAlongPlanes(plan, arg, plane); });
}

// The statement that writes the result; null if there are several.
const Statement* StoreOf(const KernelPlan& plan) {
  const Statement* store = nullptr;
  for (size_t stage = 1; stage < plan.stages.size(); ++stage) {
    for (const Statement& s : plan.stages[stage].statements) {
      if (plan.buffers[s.buffer].kind == BufferKind::kLocal) continue;
      if (store != nullptr) return nullptr;
      store = &s;
    }
  }
  return store;
}

// Whether lanes of planes do more work than those that are idle in the last vector of planes.
bool FillsLanes(const KernelPlan& plan, int axis, int lanes) {
  const DimSizeRange range = RangeOfDimSize(plan, plan.axes[axis].dim_size);
  if (range.divisor % lanes == 0 && range.max > 0) return true;
  return range.fixed && range.max > 0 && (range.max + lanes - 1) / lanes * lanes * 4 <= range.max * 5;
}

// Bytes between what a square stages and what it prefetches, in the same plane.
constexpr int64_t kFetchedAhead = 256;

class PlaneWindowEmitter : private WindowTaskEmitter {
 public:
  PlaneWindowEmitter(const KernelPlan& plan, const WindowedReduction& windows, int plane, const Schedule& schedule,
                     const EmitTarget& target, llvm::Module& module, const std::string& name)
      : WindowTaskEmitter(plan, windows, Locals(plan, windows), schedule, target, module, name),
        plane_(plane),
        weights_(WeightsOf(plan, windows)),
        whole_(RangeOfDimSize(plan, plan.axes[plane].dim_size).divisor % lanes_ == 0) {
    // The last results of a row are computed beyond its end, from what lies behind it.
    staging_ = Vectors((BlockOf(0) - 1) * y_.stride + y_.reach() + 2, "staging");
    results_ = b_.CreateAlloca(vector_, I64(StagingSizeOf(windows_).columns), "results");
    results_->setAlignment(Alignment());
    for (size_t i = 0; i < weights_.size(); ++i) {
      steps_.push_back(b_.CreateAlloca(vector_, I64(y_.size * x_.size), "weights"));
      steps_.back()->setAlignment(Alignment());
    }
  }

  void Emit(const Version& version) {
    EmitTasks(version, BlockOf(0), BlockOf(1), plane_, [&] {
      EmitWeights();
      EmitStaging();
      EmitLoop(b_, I64(0), rows_.count, 1, "row", [&](Value* row) {
        EmitLoop(b_, I64(0), columns_.count, Results(), "results", [&](Value* column) { EmitResults(row, column); });
        windows_.is_channels_last() ? EmitAdjacentStores(row) : EmitStores(row);
      });
    });
  }

 private:
  static std::vector<ExprId> Locals(const KernelPlan& plan, const WindowedReduction& windows) {
    std::vector<ExprId> locals = WeightsOf(plan, windows);
    locals.insert(locals.begin(), windows.image);
    return locals;
  }
  int Results() const { return target_.avx512 ? kManyResults : kFewResults; }
  int64_t BlockOf(size_t side) const { return PlaneBlock(windows_, side, lanes_); }
  llvm::Align Alignment() const { return llvm::Align(int64_t{lanes_} * SizeOf(dtype_)); }
  llvm::AllocaInst* Vectors(int64_t rows, const char* name) {
    llvm::AllocaInst* memory = b_.CreateAlloca(vector_, I64(rows * StagingSizeOf(windows_).most_pitch()), name);
    memory->setAlignment(Alignment());
    return memory;
  }
  Value* Load(llvm::AllocaInst* memory, Value* number, const char* name) {
    return b_.CreateAlignedLoad(vector_, b_.CreateInBoundsGEP(vector_, memory, number), Alignment(), name);
  }
  void Store(Value* value, llvm::AllocaInst* memory, Value* number) {
    b_.CreateAlignedStore(value, b_.CreateInBoundsGEP(vector_, memory, number), Alignment());
  }

  // Lanes of `emitter` run across the planes of the task.
  void EnterPlanes(ScalarEmitter& emitter) {
    emitter.SetLanes(plane_, planes_.first, lanes_, whole_ ? nullptr : EmitFirstLanes(b_, lanes_, planes_.count));
  }

  void EmitWeights() {
    if (weights_.empty()) return;
    EmitLoop(b_, I64(0), I64(y_.size), 1, "weights.row", [&](Value* row) {
      for (size_t weight = 0; weight < weights_.size(); ++weight) {
        if (LiesAlongPlanes(plan_, weights_[weight], plane_)) {
          EmitAdjacentWeights(row, weight);
          continue;
        }
        // The steps of a row are adjacent, not the planes of a step.
        for (int64_t first = 0; first < x_.size; first += lanes_) {
          const int64_t count = std::min<int64_t>(lanes_, x_.size - first);
          std::vector<Value*> square;
          for (int64_t i = 0; i < lanes_; ++i) {
            reader_.SetAxis(plane_, PlaneAt(i));
            reader_.SetAxis(y_.window, row);
            reader_.SetLanes(x_.window, I64(first), lanes_, EmitFirstLanes(b_, lanes_, I64(count)));
            square.push_back(ToMemory(b_, dtype_, reader_.EmitLanes(weights_[weight])));
          }
          reader_.SetLanes(x_.window, I64(0), 1, nullptr);
          TransposeSquare(b_, square);
          Value* place = b_.CreateAdd(Times(row, x_.size), I64(first));
          for (int64_t i = 0; i < count; ++i) Store(square[i], steps_[weight], b_.CreateAdd(place, I64(i)));
        }
      }
    });
  }

  void EmitAdjacentWeights(Value* row, size_t weight) {
    EnterPlanes(reader_);
    reader_.SetAxis(y_.window, row);
    for (int64_t i = 0; i < x_.size; ++i) {
      reader_.SetAxis(x_.window, I64(i));
      Value* step = ToMemory(b_, dtype_, reader_.EmitLanes(weights_[weight]));
      Store(step, steps_[weight], b_.CreateAdd(Times(row, x_.size), I64(i)));
    }
    reader_.SetLanes(plane_, I64(0), 1, nullptr);
  }

  void EmitStaging() {
    Value* rows = b_.CreateAdd(Times(b_.CreateSub(rows_.count, I64(1)), y_.stride), I64(y_.reach() + 1));
    Value* columns = b_.CreateAdd(Times(b_.CreateSub(columns_.count, I64(1)), x_.stride), I64(x_.reach() + 1));
    Value* squares = b_.CreateUDiv(b_.CreateAdd(columns, I64(lanes_ - 1)), I64(lanes_), "squares");
    pitch_ = b_.CreateAdd(Times(squares, lanes_), I64(kBetweenRows), "pitch");
    for (const WindowSide& side : windows_.sides) reader_.SetAxis(side.origin(), I64(0));
    EmitLoop(b_, I64(0), rows, 1, "staging.row", [&](Value* row) {
      reader_.SetAxis(y_.position(), b_.CreateAdd(Times(rows_.first, y_.stride), row));
      if (windows_.is_channels_last()) {
        EmitAdjacentPlanes(row, columns);
        return;
      }
      EmitLoop(b_, I64(0), columns, lanes_, "staging.column", [&](Value* column) {
        Value* mask = EmitFirstLanes(b_, lanes_, b_.CreateSub(columns, column));
        Value* place = b_.CreateAdd(b_.CreateMul(row, pitch_), column, "place");
        if (Value* is_inside = EmitIsInside(column, mask)) {
          EmitIf(b_, is_inside, "staging.image", [&] { EmitSquare(column, mask, place); });
          EmitIf(b_, b_.CreateNot(is_inside), "staging.padding", [&] { EmitPadding(place); });
        } else {
          EmitSquare(column, mask, place);
        }
      });
    });
  }

  // Stages a row of an image whose planes are adjacent.
  void EmitAdjacentPlanes(Value* row, Value* columns) {
    EmitLoop(b_, I64(0), columns, 1, "staging.column", [&](Value* column) {
      EnterPlanes(reader_);
      reader_.SetAxis(x_.position(), b_.CreateAdd(Times(columns_.first, x_.stride), column));
      Value* planes = ToMemory(b_, dtype_, reader_.EmitLanes(windows_.image));
      Store(planes, staging_, b_.CreateAdd(b_.CreateMul(row, pitch_), column));
      reader_.SetLanes(plane_, I64(0), 1, nullptr);
    });
  }

  void EnterColumns(Value* column, Value* mask, int64_t plane) {
    reader_.SetAxis(plane_, PlaneAt(plane));
    reader_.SetLanes(x_.position(), b_.CreateAdd(Times(columns_.first, x_.stride), column), lanes_, mask);
  }

  // Stages adjacent elements of a row of the image.
  void EmitSquare(Value* column, Value* mask, Value* place) {
    reader_.AssumeUniformPredicates(IsPaddedLoad());  // some lanes are read
    std::vector<Value*> square;
    for (int64_t i = 0; i < lanes_; ++i) {
      EnterColumns(column, mask, i);
      square.push_back(ToMemory(b_, dtype_, reader_.EmitLanes(windows_.image)));
      EmitFetchAhead(kFetchedAhead);
    }
    reader_.SetLanes(x_.position(), I64(0), 1, nullptr);
    reader_.AssumeUniformPredicates(false);
    TransposeSquare(b_, square);
    for (int64_t i = 0; i < lanes_; ++i) Store(square[i], staging_, b_.CreateAdd(place, I64(i)));
  }

  // Whether the image is select(p, x, literal) with a `p` that is the same in all planes.
  bool IsPadded() const {
    const Expr& image = plan_.exprs[windows_.image];
    return image.kind == ExprKind::kOp && image.op == OpKind::kSelect &&
           plan_.exprs[image.args[2]].kind == ExprKind::kLiteral && !DependsOn(plan_, image.args[0], plane_);
  }

  // Whether it is select(p, x if p, literal).
  bool IsPaddedLoad() const {
    if (!IsPadded()) return false;
    const Expr& image = plan_.exprs[windows_.image];
    const Expr& load = plan_.exprs[image.args[1]];
    return load.kind == ExprKind::kLoad && load.predicate == image.args[0];
  }

  // Whether some of the lanes of `mask` are elements of a padded image; null for other images.
  Value* EmitIsInside(Value* column, Value* mask) {
    if (!IsPadded()) return nullptr;
    EnterColumns(column, mask, 0);
    Value* inside = reader_.EmitLanes(plan_.exprs[windows_.image].args[0]);
    reader_.SetLanes(x_.position(), I64(0), 1, nullptr);
    return b_.CreateOrReduce(b_.CreateAnd(inside, mask));
  }

  // Stages padding in place of a square.
  void EmitPadding(Value* place) {
    Value* padding = reader_.Emit(plan_.exprs[windows_.image].args[2]);
    Value* vector = ToMemory(b_, dtype_, b_.CreateVectorSplat(lanes_, padding, "padding"));
    for (int64_t i = 0; i < lanes_; ++i) Store(vector, staging_, b_.CreateAdd(place, I64(i)));
  }

  // Plane `i` of the task; the last one where there are fewer.
  Value* PlaneAt(int64_t i) {
    Value* plane = b_.CreateAdd(planes_.first, I64(i), "plane");
    if (whole_) return plane;
    Value* last = b_.CreateSub(DimSizeOf(plane_), I64(1));
    return b_.CreateBinaryIntrinsic(llvm::Intrinsic::smin, plane, last, nullptr, "plane");
  }

  // Results from `column` of a row of the block on, perhaps some beyond its end.
  void EmitResults(Value* row, Value* column) {
    const Statement& s = staged_.stages[0].statements[0];
    std::deque<Accumulator> sums;
    for (int i = 0; i < Results(); ++i) sums.emplace_back(b_, target_, s, /*scans=*/false, 1, lanes_);
    EnterPlanes(writer_);
    const int locals = static_cast<int>(plan_.buffers.size());
    for (int64_t j = 0; j < y_.size; ++j) {
      // Keeps LLVM from holding the weights of all rows at once and spilling them.
      EmitOrderOfReads(b_);
      Value* image_row = b_.CreateMul(b_.CreateAdd(Times(row, y_.stride), I64(j * y_.dilation)), pitch_);
      Value* place = b_.CreateAdd(image_row, Times(column, x_.stride), "place");
      writer_.SetAxis(y_.window, I64(j));
      for (int64_t k = 0; k < x_.size; ++k) {
        std::vector<Value*> weights;
        for (llvm::AllocaInst* of_steps : steps_) {
          weights.push_back(FromMemory(b_, dtype_, Load(of_steps, I64(j * x_.size + k), "weight")));
        }
        for (int64_t i = 0; i < Results(); ++i) {
          writer_.SetAxis(x_.window, I64(k));
          Value* image = Load(staging_, b_.CreateAdd(place, I64(i * x_.stride + k * x_.dilation)), "image");
          writer_.SetLocal(locals, FromMemory(b_, dtype_, image));
          for (size_t w = 0; w < weights.size(); ++w) writer_.SetLocal(locals + 1 + static_cast<int>(w), weights[w]);
          sums[i].Add(writer_.EmitLanes(s.value), 0, nullptr);
        }
      }
    }
    std::vector<Value*> results;
    for (Accumulator& sum : sums) {
      sum.EndStep();
      results.push_back(sum.Close(/*across_lanes=*/false));
    }
    writer_.SetAxis(y_.result, b_.CreateAdd(rows_.first, row, "y"));
    for (int64_t i = 0; i < Results(); ++i) {
      Value* place = b_.CreateAdd(column, I64(i));
      Value* result = windows_.is_channels_last() ? results[i] : EmitLaterStages(place, results[i]);
      Store(ToMemory(b_, dtype_, result), results_, place);
    }
    writer_.SetLanes(plane_, I64(0), 1, nullptr);
  }

  // Returns the value that the plan stores for the windows of `column`, which reduce to `result`.
  Value* EmitLaterStages(Value* column, Value* result) {
    writer_.SetAxis(x_.result, b_.CreateAdd(columns_.first, column, "x"));
    writer_.SetLocal(staged_.stages[0].statements[0].buffer, result);
    Value* stored = nullptr;
    for (size_t stage = 1; stage < staged_.stages.size(); ++stage) {
      for (const Statement& s : staged_.stages[stage].statements) {
        Value* value = writer_.EmitLanes(s.value);
        if (staged_.buffers[s.buffer].kind == BufferKind::kLocal) {
          writer_.SetLocal(s.buffer, value);
        } else {
          stored = value;
        }
      }
    }
    return stored;
  }

  // Processes and stores a row of the block. A loop of its own: in branches of the loop over results, LLVM would
  // compute one sum after the other.
  void EmitAdjacentStores(Value* row) {
    const Statement& store = *StoreOf(staged_);
    EmitLoop(b_, I64(0), columns_.count, 1, "store.column", [&](Value* column) {
      EnterPlanes(writer_);
      writer_.SetAxis(y_.result, b_.CreateAdd(rows_.first, row, "y"));
      Value* result = FromMemory(b_, dtype_, Load(results_, column, "result"));
      writer_.Store(store.buffer, store.indices, EmitLaterStages(column, result));
      writer_.SetLanes(plane_, I64(0), 1, nullptr);
    });
  }

  // Stores a row of the block, plane by plane.
  void EmitStores(Value* row) {
    const Statement& store = *StoreOf(staged_);
    EmitLoop(b_, I64(0), columns_.count, lanes_, "store.column", [&](Value* column) {
      Value* mask = EmitFirstLanes(b_, lanes_, b_.CreateSub(columns_.count, column));
      std::vector<Value*> square;
      for (int64_t i = 0; i < lanes_; ++i) {
        square.push_back(Load(results_, b_.CreateAdd(column, I64(i)), "result"));
      }
      TransposeSquare(b_, square);
      for (int64_t i = 0; i < lanes_; ++i) {
        const auto emit = [&] {
          writer_.SetAxis(plane_, b_.CreateAdd(planes_.first, I64(i), "plane"));
          writer_.SetAxis(y_.result, b_.CreateAdd(rows_.first, row, "y"));
          writer_.SetLanes(x_.result, b_.CreateAdd(columns_.first, column, "x"), lanes_, mask);
          writer_.Store(store.buffer, store.indices, FromMemory(b_, dtype_, square[i]));
          writer_.SetLanes(x_.result, I64(0), 1, nullptr);
        };
        if (whole_) {
          emit();
        } else {
          EmitIf(b_, b_.CreateICmpSLT(I64(i), planes_.count), "store.plane", emit);
        }
      }
    });
  }

  const int plane_;  // the axis of the lanes
  const std::vector<ExprId> weights_;
  const bool whole_;  // the number of planes is a multiple of the lanes
  llvm::AllocaInst *staging_, *results_;
  std::vector<llvm::AllocaInst*> steps_;  // by weight
  Value* pitch_ = nullptr;                // elements from row to row of the staging buffer
};

}  // namespace

int64_t PlaneBlock(const WindowedReduction& windows, size_t side, int lanes) {
  const StagingSize staging = StagingSizeOf(windows);
  const int64_t staged = side == 0 ? staging.bytes / (staging.most_pitch() * lanes * 4) : staging.columns;
  return std::max<int64_t>(0, staged - 1 - windows.sides[side].reach()) / windows.sides[side].stride + 1;
}

int PlaneAxisOf(const KernelPlan& plan, const WindowedReduction& windows, int lanes) {
  constexpr int64_t kFewestRows = 4, kFewestColumns = 8;
  const Statement& s = plan.stages[0].statements[0];
  const Statement* store = StoreOf(plan);
  const auto is_f32 = [](DType dtype) { return dtype == DType::kF32; };
  if (windows.sides.size() != 2 || store == nullptr || !is_f32(plan.exprs[windows.image].dtype) ||
      !is_f32(s.accumulate) || !is_f32(plan.buffers[s.buffer].dtype) || !is_f32(plan.buffers[store->buffer].dtype))
    return -1;
  if (PlaneBlock(windows, 0, lanes) < kFewestRows || PlaneBlock(windows, 1, lanes) < kFewestColumns) return -1;
  const std::vector<ExprId> weights = WeightsOf(plan, windows);
  for (ExprId id : weights) {  // one value per step and plane, whatever the position
    if (!is_f32(plan.exprs[id].dtype)) return -1;
    for (const WindowSide& side : windows.sides) {
      if (DependsOn(plan, id, side.result)) return -1;
    }
  }
  if (!LoadsPlaneValues(plan, windows, s.value)) return -1;
  if (windows.is_channels_last()) {
    const DimSizeRange channels = RangeOfDimSize(plan, plan.axes[windows.contiguous].dim_size);
    const bool are_few = channels.fixed && channels.max * 4 <= lanes;  // loops are faster
    return !are_few && DependsOn(plan, windows.image, windows.contiguous) ? windows.contiguous : -1;
  }
  for (size_t stage = 1; stage < plan.stages.size(); ++stage) {
    for (const Statement& later : plan.stages[stage].statements) {
      if (!LoadsPlaneValues(plan, windows, later.value)) return -1;
    }
  }
  for (auto axis = windows.outer.rbegin(); axis != windows.outer.rend(); ++axis) {
    if (DependsOn(plan, windows.image, *axis) && FillsLanes(plan, *axis, lanes)) return *axis;
  }
  return -1;
}

void EmitPlaneWindows(const KernelPlan& plan, const WindowedReduction& windows, int plane, const Schedule& schedule,
                      const Version& version, const EmitTarget& target, const std::string& name, llvm::Module& module) {
  PlaneWindowEmitter(plan, windows, plane, schedule, target, module, name).Emit(version);
}

}  // namespace tailor::cpu
