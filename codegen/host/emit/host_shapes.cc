#include "codegen/host/emit/host_shapes.h"

#include <algorithm>
#include <string>

#include "absl/strings/str_cat.h"
#include "codegen/contract/panels.h"
#include "codegen/cpu/tiling/emit_tiling_choice.h"

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

// Dim sizes are never negative: the runtime rejects negative ones.
DimValue HostShapes::InputDim(int input, int dim) {
  auto [found, is_new] = input_dims_.try_emplace({input, dim});
  if (is_new) {
    llvm::Value* dims = f_.LoadPtr(inputs_, sizeof(TensorArg) * input + offsetof(TensorArg, dims), "in.dims");
    found->second = {f_.LoadI64(dims, 8 * dim, "extent"), 0, INT64_MAX};
  }
  return found->second;
}

// The binding's own check (coefficient * symbol + offset == dim size) catches a remainder of the division.
void HostShapes::Bind(const SymbolBinding& binding) {
  DimEmitter solve = MakeEmitter();
  solve.SetSymbol(0, InputDim(binding.input, binding.dim));
  const DimExpr dim_size = DimExpr::Symbol(0);
  dims_.SetSymbol(binding.symbol, solve.Emit(DimExpr::FloorDiv(dim_size - binding.offset, binding.coefficient)));
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

DimValue HostShapes::Constant(int64_t value) { return {f_.b.getInt64(value), value, value}; }

llvm::Value* HostShapes::Holds(const Guard& guard, const std::vector<DimValue>& dims, SlotEmitter& slots) {
  llvm::IRBuilder<>& b = f_.b;
  if (guard.kind == Guard::Kind::kOutgrowsCache) {
    llvm::Value* least = f_.LoadI64(f_.context(), offsetof(RtContext, streamed_bytes), "streamed.bytes");
    llvm::Value* streams = b.CreateICmpNE(least, b.getInt64(0), "streams");
    return b.CreateAnd(streams, b.CreateICmpUGE(slots.Emit(guard.value).value, least));
  }
  if (guard.kind == Guard::Kind::kValueAtLeast) {
    return b.CreateICmpSGE(slots.Emit(guard.value).value, b.getInt64(guard.number));
  }
  if (guard.kind == Guard::Kind::kValueAtMost) {
    return b.CreateICmpSLE(slots.Emit(guard.value).value, b.getInt64(guard.number));
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

// Sets the tiling, and the tasks and chunk size that it implies.
void HostShapes::ChooseTiling(const EmittedKernel& kernel, LaunchShape& shape) {
  const Schedule& schedule = *kernel.on_host().schedule;
  const gemm::TilingChoice choice =
      gemm::EmitTilingChoice(schedule.tile, kPanelColumns / schedule.lanes, *f_.function()->getParent());
  const size_t axes = kernel.plan->axes.size();
  const auto dim_size = [&](size_t axis) -> llvm::Value* {
    const DimSize& e = kernel.plan->axes[axis].dim_size;
    return e.is_constant() ? f_.b.getInt64(e.constant) : shape.dims[e.slot].value;
  };
  llvm::Value* batch = f_.b.getInt64(1);
  for (size_t axis = 0; axis + 3 < axes; ++axis) batch = f_.b.CreateMul(batch, dim_size(axis), "batch");
  llvm::Value* costs = f_.LoadPtr(f_.context(), offsetof(RtContext, costs), "costs");
  llvm::Value* workers = f_.LoadI64(f_.context(), offsetof(RtContext, workers), "workers");
  llvm::Value* chosen = f_.b.CreateCall(
      choice.function,
      {costs, choice.candidates, workers, dim_size(axes - 3), dim_size(axes - 2), dim_size(axes - 1), batch}, "chosen");
  auto& on_host = std::get<HostLaunchShape>(shape.place);
  on_host.tiling = f_.b.CreateExtractValue(chosen, 0, "tiling");
  on_host.tasks.value = f_.b.CreateExtractValue(chosen, 1, "tasks");
  on_host.tasks_per_chunk.value = f_.b.CreateExtractValue(chosen, 2, "tasks.per.chunk");
}

template <typename Launch>
void HostShapes::ChooseVersion(const std::vector<Launch>& versions, absl::Span<const Field<Launch>> fields,
                               const std::function<DimValue(const Launch&)>& clocks, SlotEmitter& slots,
                               LaunchShape& shape) {
  llvm::IRBuilder<>& b = f_.b;
  const auto select = [&](llvm::Value* fits, const DimValue& now, DimValue& value) {
    if (now.value == value.value) return;
    value = {b.CreateSelect(fits, now.value, value.value), std::min(value.min, now.min), std::max(value.max, now.max)};
  };
  shape.version = b.getInt32(static_cast<uint32_t>(versions.size() - 1));
  for (const Field<Launch>& field : fields) *field.value = field.of(versions.back());
  DimValue fewest = clocks(versions.back());
  for (size_t v = versions.size() - 1; v-- > 0;) {
    llvm::Value* fits = b.getTrue();
    for (const Guard& guard : versions[v].guards) fits = b.CreateAnd(fits, Holds(guard, shape.dims, slots));
    const DimValue now = clocks(versions[v]);
    fits = b.CreateAnd(fits, b.CreateICmpSLE(now.value, fewest.value), "fits");
    select(fits, now, fewest);
    shape.version = b.CreateSelect(fits, b.getInt32(static_cast<uint32_t>(v)), shape.version, "version");
    for (const Field<Launch>& field : fields) select(fits, field.of(versions[v]), *field.value);
  }
}

void HostShapes::ShapeOnHost(const EmittedKernel& kernel, SlotEmitter& slots, LaunchShape& shape) {
  auto& on_host = shape.place.emplace<HostLaunchShape>();
  const auto scratch = [&](const HostLaunch& version) {
    return slots.Emit(64 * SlotExpr::CeilDiv(version.scratch_bytes, 64));
  };
  const Field<HostLaunch> fields[] = {
      {&on_host.tasks, [&](const HostLaunch& version) { return slots.Emit(version.tasks); }},
      {&on_host.tasks_per_chunk,
       [&](const HostLaunch& version) { return slots.Emit(SlotExpr::Max(version.tasks_per_chunk, 1)); }},
      {&shape.scratch_bytes, scratch},
      {&shape.all_scratch_bytes,
       [&](const HostLaunch& version) {
         const DimValue bytes = scratch(version);
         return version.phases ? bytes : slots.Multiply(bytes, slots.Emit(SlotExpr::Workers()));
       }},
      {&shape.parts, [&](const HostLaunch& version) { return slots.Emit(version.phases ? version.phases->parts : 1); }},
      {&on_host.phases,
       [&](const HostLaunch& version) { return Constant(version.phases.value_or(HostLaunch::Phases()).word()); }},
  };
  ChooseVersion<HostLaunch>(
      kernel.on_host().versions, fields, [&](const HostLaunch&) { return Constant(0); }, slots, shape);
  const Schedule& schedule = *kernel.on_host().schedule;
  if (schedule.row_blocks != 0) on_host.row_blocks = slots.Emit(schedule.row_blocks).value;
  if (schedule.tile.chooses) ChooseTiling(kernel, shape);
}

void HostShapes::ShapeOnDevice(const EmittedKernel& kernel, SlotEmitter& slots, LaunchShape& shape) {
  auto& on_device = shape.place.emplace<DeviceLaunchShape>();
  const auto blocks = [&](const DeviceLaunch& version) {
    if (version.resident_blocks == 0) return slots.Emit(version.blocks);
    return slots.Emit(SlotExpr::Min(version.blocks, version.resident_blocks * SlotExpr::Workers()));
  };
  const auto scratch = [&](const DeviceLaunch& version) {
    return slots.Emit(64 * SlotExpr::CeilDiv(version.scratch_bytes, 64));
  };
  const Field<DeviceLaunch> fields[] = {
      {&on_device.blocks, blocks},
      {&on_device.shared_bytes, [&](const DeviceLaunch& version) { return slots.Emit(version.shared_bytes); }},
      {&shape.scratch_bytes, scratch},
      {&shape.all_scratch_bytes,
       [&](const DeviceLaunch& version) {
         const DimValue bytes = scratch(version);
         return version.cooperative ? bytes : slots.Multiply(bytes, blocks(version));
       }},
      {&shape.parts, [&](const DeviceLaunch& version) { return slots.Emit(version.parts); }},
      {&on_device.cooperative, [&](const DeviceLaunch& version) { return Constant(version.cooperative); }},
  };
  ChooseVersion<DeviceLaunch>(
      kernel.on_device().versions, fields, [&](const DeviceLaunch& version) { return slots.Emit(version.clocks); },
      slots, shape);
}

LaunchShape HostShapes::ShapeOf(const Launch& launch) {
  const EmittedKernel& kernel = kernels_[launch.kernel];
  LaunchShape shape;
  for (const DimExpr& dim : launch.dims) shape.dims.push_back(dims_.Emit(dim));
  llvm::Value* workers = f_.LoadI64(f_.context(), offsetof(RtContext, workers), "workers");
  SlotEmitter slots(MakeEmitter(), shape.dims, {workers, 1, INT32_MAX});
  if (place_ == KernelPlace::kDevice) {
    ShapeOnDevice(kernel, slots, shape);
  } else {
    ShapeOnHost(kernel, slots, shape);
  }
  return shape;
}

// Blocks first, then scratch that is large enough for every launch: for all blocks of a device, or all CPU threads.
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
      blocks = dims_.Add(blocks, size);  // emits the overflow check
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
