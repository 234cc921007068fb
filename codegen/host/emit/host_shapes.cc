#include "codegen/host/emit/host_shapes.h"

#include <algorithm>
#include <string>

#include "absl/strings/str_cat.h"
#include "codegen/contract/panels.h"
#include "codegen/cpu/tiling/emit_cut_choice.h"
#include "codegen/plan/worker_symbol.h"

namespace tailor::host {

using Relation = ShapeCheck::Relation;

HostShapes::HostShapes(const HostProgram& program, const std::vector<EmittedKernel>& kernels, KernelPlace place,
                       HostFunction& function, llvm::Value* inputs)
    : program_(program), kernels_(kernels), place_(place), f_(function), inputs_(inputs), dims_(MakeEmitter()) {}

DimEmitter HostShapes::MakeEmitter() {
  return DimEmitter(f_.b, [this](llvm::Value* overflows) {
    f_.FailIf(overflows, kCheckOverflow, f_.b.getInt64(0), f_.b.getInt64(0));
  });
}

void HostShapes::BindAndCheck() {
  for (const SymbolBinding& binding : program_.bindings) Bind(binding);
  for (int32_t id = 0; id < program_.shape_check_count; ++id) Check(id, program_.checks[id]);
}

// Extents of tensors are never negative: the runtime refuses those.
DimValue HostShapes::InputDim(int input, int dim) {
  auto [found, is_new] = input_dims_.try_emplace({input, dim});
  if (is_new) {
    llvm::Value* dims = f_.LoadPtr(inputs_, sizeof(TensorArg) * input + offsetof(TensorArg, dims), "in.dims");
    found->second = {f_.LoadI64(dims, 8 * dim, "extent"), 0, INT64_MAX};
  }
  return found->second;
}

// A remainder of the division is for the binding's own check to find: coefficient * symbol + offset == extent.
void HostShapes::Bind(const SymbolBinding& binding) {
  DimEmitter solve = MakeEmitter();
  solve.SetSymbol(0, InputDim(binding.input, binding.dim));
  const DimExpr extent = DimExpr::Symbol(0);
  dims_.SetSymbol(binding.symbol, solve.Emit(DimExpr::FloorDiv(extent - binding.offset, binding.coefficient)));
}

void HostShapes::Check(int32_t id, const ShapeCheck& check) {
  llvm::IRBuilder<>& b = f_.b;
  const DimValue lhs = check.input >= 0 ? InputDim(check.input, check.dim) : dims_.Emit(check.lhs);
  const DimValue rhs = dims_.Emit(check.rhs);
  llvm::Value* bad = nullptr;
  switch (check.relation) {
    case Relation::kEqual:
      bad = b.CreateICmpNE(lhs.value, rhs.value);
      break;
    case Relation::kAtLeast:
      bad = b.CreateICmpSLT(lhs.value, rhs.value);
      break;
    case Relation::kAtMost:
      bad = b.CreateICmpSGT(lhs.value, rhs.value);
      break;
    case Relation::kMultipleOf:
      bad = b.CreateICmpNE(b.CreateSRem(lhs.value, rhs.value), b.getInt64(0));
      break;
    case Relation::kBroadcasts: {
      llvm::Value* differ = b.CreateICmpNE(lhs.value, rhs.value);
      llvm::Value* neither =
          b.CreateAnd(b.CreateICmpNE(lhs.value, b.getInt64(1)), b.CreateICmpNE(rhs.value, b.getInt64(1)));
      bad = b.CreateAnd(differ, neither);
      break;
    }
  }
  f_.FailIf(bad, program_.first_check + id, lhs.value, rhs.value);
  Learn(check);
}

// A check of one symbol against a constant narrows the symbol's range.
void HostShapes::Learn(const ShapeCheck& check) {
  const std::optional<int64_t> bound = check.rhs.constant();
  if (!bound) return;
  const int64_t min = check.relation == Relation::kAtMost ? INT64_MIN : *bound;
  const int64_t max = check.relation == Relation::kAtLeast ? INT64_MAX : *bound;
  if (check.relation == Relation::kMultipleOf || check.relation == Relation::kBroadcasts) return;
  if (check.input < 0) {
    if (const std::optional<SymbolId> symbol = check.lhs.symbol()) dims_.Narrow(*symbol, min, max);
    return;
  }
  for (const SymbolBinding& binding : program_.bindings) {
    const bool plain = binding.coefficient == 1 && binding.offset == 0;
    if (plain && binding.input == check.input && binding.dim == check.dim) dims_.Narrow(binding.symbol, min, max);
  }
}

llvm::Value* HostShapes::Holds(const Guard& guard, const std::vector<DimValue>& dims, DimEmitter& over_slots) {
  llvm::IRBuilder<>& b = f_.b;
  if (guard.kind == Guard::Kind::kOutgrowsCache) {
    llvm::Value* least = f_.LoadI64(f_.context(), offsetof(RtContext, streamed_bytes), "streamed.bytes");
    llvm::Value* streams = b.CreateICmpNE(least, b.getInt64(0), "streams");
    return b.CreateAnd(streams, b.CreateICmpUGE(over_slots.Emit(guard.value).value, least));
  }
  if (guard.kind == Guard::Kind::kValueAtLeast) {
    return b.CreateICmpSGE(over_slots.Emit(guard.value).value, b.getInt64(guard.number));
  }
  if (guard.kind == Guard::Kind::kValueAtMost) {
    return b.CreateICmpSLE(over_slots.Emit(guard.value).value, b.getInt64(guard.number));
  }
  llvm::Value* value = dims[guard.slot].value;
  llvm::Value* other = guard.other >= 0 ? dims[guard.other].value : b.getInt64(guard.number);
  switch (guard.kind) {
    case Guard::Kind::kDivides:
      return b.CreateICmpEQ(b.CreateSRem(value, other), b.getInt64(0));
    case Guard::Kind::kEqual:
      return b.CreateICmpEQ(value, other);
    case Guard::Kind::kAtMost:
      return b.CreateICmpSLE(value, other);
    case Guard::Kind::kAtLeast:
      return b.CreateICmpSGE(value, other);
    case Guard::Kind::kOutgrowsCache:
    case Guard::Kind::kValueAtLeast:
    case Guard::Kind::kValueAtMost:
      break;
  }
  return b.getFalse();
}

// Sets the cut, and the tasks and the grain that follow from it. Launches of one kernel share the code.
void HostShapes::ChooseCut(const EmittedKernel& kernel, LaunchShape& shape) {
  const std::string name = absl::StrCat(kernel.symbol, "_cut");
  llvm::Module& module = *f_.function()->getParent();
  llvm::Function* choice = module.getFunction(name);
  if (choice == nullptr) {
    choice = gemm::EmitCutChoice(kernel.schedule->tile, kPanelColumns / kernel.schedule->lanes, name, module);
  }
  const size_t axes = kernel.plan->axes.size();
  const auto extent = [&](size_t axis) -> llvm::Value* {
    const Extent& e = kernel.plan->axes[axis].extent;
    return e.is_constant() ? f_.b.getInt64(e.constant) : shape.dims[e.slot].value;
  };
  llvm::Value* batch = f_.b.getInt64(1);
  for (size_t axis = 0; axis + 3 < axes; ++axis) batch = f_.b.CreateMul(batch, extent(axis), "batch");
  llvm::Value* costs = f_.LoadPtr(f_.context(), offsetof(RtContext, costs), "costs");
  llvm::Value* workers = f_.LoadI64(f_.context(), offsetof(RtContext, workers), "workers");
  llvm::Value* chosen =
      f_.b.CreateCall(choice, {costs, workers, extent(axes - 3), extent(axes - 2), extent(axes - 1), batch}, "chosen");
  shape.cut = f_.b.CreateExtractValue(chosen, 0, "cut");
  shape.tasks.value = f_.b.CreateExtractValue(chosen, 1, "tasks");
  shape.grain.value = f_.b.CreateExtractValue(chosen, 2, "grain");
}

DimValue HostShapes::Tasks(const LaunchVersion& version, DimEmitter& over_slots) {
  if (version.resident_blocks == 0) return over_slots.Emit(version.tasks);
  return over_slots.Emit(DimExpr::Min(version.tasks, version.resident_blocks * DimExpr::Symbol(kWorkers)));
}

DimValue HostShapes::AllScratch(const LaunchVersion& version, DimEmitter& over_slots) {
  const DimValue scratch = over_slots.Emit(64 * DimExpr::CeilDiv(version.scratch_bytes, 64));
  if (version.together) return scratch;
  return over_slots.Multiply(scratch, place_ == KernelPlace::kDevice ? Tasks(version, over_slots)
                                                                     : over_slots.Emit(DimExpr::Symbol(kWorkers)));
}

// The cheapest version whose guards hold, the first of equal ones.
void HostShapes::ChooseVersion(const EmittedKernel& kernel, DimEmitter& over_slots, LaunchShape& shape) {
  llvm::IRBuilder<>& b = f_.b;
  const auto select = [&](llvm::Value* fits, const DimValue& now, DimValue& value) {
    if (now.value == value.value) return;
    value = {b.CreateSelect(fits, now.value, value.value), std::min(value.min, now.min), std::max(value.max, now.max)};
  };
  const bool on_device = kernel.first_on_device >= 0;
  const auto grain = [&](const LaunchVersion& version) {
    return over_slots.Emit(on_device ? version.grain : DimExpr::Max(version.grain, 1));
  };
  const auto scratch = [&](const LaunchVersion& version) {
    return over_slots.Emit(64 * DimExpr::CeilDiv(version.scratch_bytes, 64));
  };
  const std::vector<LaunchVersion>& versions = kernel.versions;
  const LaunchVersion& last = versions.back();
  shape.version = b.getInt32(static_cast<uint32_t>(versions.size() - 1));
  shape.tasks = Tasks(last, over_slots);
  shape.grain = grain(last);
  shape.scratch_bytes = scratch(last);
  shape.all_scratch_bytes = AllScratch(last, over_slots);
  shape.together = b.getInt64(last.together);
  shape.phases = b.getInt64(last.phases_word());
  DimValue clocks = over_slots.Emit(last.clocks);
  shape.parts = over_slots.Emit(last.parts);
  for (size_t v = versions.size() - 1; v-- > 0;) {
    const LaunchVersion& now = versions[v];
    llvm::Value* fits = b.getTrue();
    for (const Guard& guard : now.guards) fits = b.CreateAnd(fits, Holds(guard, shape.dims, over_slots));
    const DimValue now_clocks = over_slots.Emit(now.clocks);
    fits = b.CreateAnd(fits, b.CreateICmpSLE(now_clocks.value, clocks.value), "fits");
    select(fits, now_clocks, clocks);
    shape.version = b.CreateSelect(fits, b.getInt32(static_cast<uint32_t>(v)), shape.version, "version");
    select(fits, Tasks(now, over_slots), shape.tasks);
    select(fits, grain(now), shape.grain);
    select(fits, scratch(now), shape.scratch_bytes);
    select(fits, AllScratch(now, over_slots), shape.all_scratch_bytes);
    select(fits, over_slots.Emit(now.parts), shape.parts);
    const auto select_number = [&](int64_t number, llvm::Value*& value, const char* name) {
      llvm::Value* of_now = b.getInt64(number);
      if (of_now != value) value = b.CreateSelect(fits, of_now, value, name);
    };
    select_number(now.together, shape.together, "together");
    select_number(now.phases_word(), shape.phases, "phases");
  }
}

LaunchShape HostShapes::ShapeOf(const Launch& launch) {
  const EmittedKernel& kernel = kernels_[launch.kernel];
  LaunchShape shape;
  DimEmitter over_slots = MakeEmitter();
  for (size_t slot = 0; slot < launch.dims.size(); ++slot) {
    shape.dims.push_back(dims_.Emit(launch.dims[slot]));
    over_slots.SetSymbol(static_cast<SymbolId>(slot), shape.dims.back());
  }
  over_slots.SetSymbol(kWorkers, {f_.LoadI64(f_.context(), offsetof(RtContext, workers), "workers"), 1, INT32_MAX});
  ChooseVersion(kernel, over_slots, shape);
  if (kernel.schedule != nullptr && kernel.schedule->tile.chooses) ChooseCut(kernel, shape);
  return shape;
}

// Blocks first, then scratch, large enough for every launch: of all blocks of a device, of all workers of the host.
WorkspaceShape HostShapes::Place(const std::vector<LaunchShape>& launches, llvm::Function* first_fit,
                                 llvm::Value* table) {
  llvm::IRBuilder<>& b = f_.b;
  WorkspaceShape workspace;
  DimValue blocks{b.getInt64(0), 0, 0};
  if (first_fit != nullptr) {
    const auto count = static_cast<int64_t>(program_.memory.order.size());
    llvm::IRBuilder<> entry(&f_.function()->getEntryBlock(), f_.function()->getEntryBlock().begin());
    auto* words = llvm::ArrayType::get(b.getInt64Ty(), count);
    llvm::Value* sizes = entry.CreateAlloca(words, nullptr, "sizes");
    workspace.offsets = entry.CreateAlloca(words, nullptr, "offsets");
    for (const HostBuffer& buffer : program_.buffers) {
      if (buffer.place != HostBuffer::Place::kWorkspace) continue;
      const DimValue size = dims_.Emit(BytesOf(buffer));
      f_.Store(size.value, sizes, 8 * buffer.index);
      blocks = dims_.Add(blocks, size);  // for its overflow check
    }
    blocks.value = b.CreateCall(first_fit, {sizes, workspace.offsets, table, b.getInt64(count)}, "blocks");
  }
  DimValue scratch{b.getInt64(0), 0, 0};
  for (const LaunchShape& launch : launches) {
    scratch.value = b.CreateBinaryIntrinsic(llvm::Intrinsic::smax, scratch.value, launch.all_scratch_bytes.value);
    scratch.max = std::max(scratch.max, launch.all_scratch_bytes.max);
  }
  workspace.scratch = blocks.value;
  workspace.bytes = dims_.Add(blocks, scratch).value;
  return workspace;
}

}  // namespace tailor::host
