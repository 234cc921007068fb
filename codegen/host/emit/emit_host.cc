// A host program has three functions. `tailor.layout` (emit_layout.cc) computes everything that depends only on dims,
// into the session's shape cache. `tailor_run` calls it if the dims differ from those in the shape cache, gets the
// output buffers, launches kernels, and calls the programs of regions (emit_calls.cc). `tailor_plan` reports the
// results of layout, from the same code.
#include "codegen/host/emit/emit_host.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "codegen/host/emit/counters.h"
#include "codegen/host/emit/emit_calls.h"
#include "codegen/host/emit/emit_first_fit.h"
#include "codegen/host/emit/emit_gemms.h"
#include "codegen/host/emit/host_function.h"
#include "codegen/host/emit/host_unit.h"
#include "codegen/link/link.h"
#include "codegen/plan/kernel_signature.h"
#include "graph/status_macros.h"

namespace tailor::host {
namespace {

using Place = HostBuffer::Place;

class RunEmitter {
 public:
  RunEmitter(const HostUnit& unit, llvm::Function* layout)
      : unit_(unit),
        layout_(layout),
        f_(unit.module, HostFunctionName("run", unit.number), 4, /*internal=*/unit.number > 0),
        shape_cache_(f_.LoadPtr(f_.context(), offsetof(RtContext, shape_cache), "shape.cache")) {}

  void Emit() {
    EnsureLayout();
    for (int i = 0; i < static_cast<int>(unit_.shape_cache.outputs.size()); ++i) SettleOutput(i);
    // Not on devices: their kernels may still run when this function returns, or be left from the previous run.
    const bool checks_faults = unit_.program.outermost && unit_.place == KernelPlace::kHost;
    if (checks_faults && unit_.shape_cache.fault >= 0)
      f_.Store(f_.b.getInt64(0), shape_cache_, ShapeCacheByte(unit_.shape_cache.fault));
    EmitPoll(f_, kBetweenLaunches);
    for (const Step& step : unit_.program.steps) {
      if (step.when == Step::When::kAlways) {
        EmitStep(step);
      } else {
        llvm::Value* taken = EmitIsTaken(f_, unit_, step.gemm, shape_cache_);
        const bool wanted = step.when == Step::When::kTaken;
        f_.If(wanted ? taken : f_.b.CreateNot(taken), /*likely=*/true, [&] { EmitStep(step); });
      }
    }
    if (checks_faults) EmitFaultCheck(f_, unit_, shape_cache_);
    f_.Finish();
  }

 private:
  llvm::Value* Word(int word, const llvm::Twine& name = "") {
    return f_.LoadI64(shape_cache_, ShapeCacheByte(word), name);
  }

  // One branch tests whether the shape cache is valid for this run.
  void EnsureLayout() {
    llvm::Value* fresh = f_.b.CreateICmpNE(Word(unit_.shape_cache.valid), f_.b.getInt64(0));
    const auto require = [&](llvm::Value* current, int word) {
      fresh = f_.b.CreateAnd(fresh, f_.b.CreateICmpEQ(current, Word(word)), "fresh");
    };
    int word = unit_.shape_cache.first_key;
    for (const auto& [input, dim] : unit_.shape_cache.keys) {
      llvm::Value* dims = f_.LoadPtr(f_.argument(2), TensorByte(input, offsetof(TensorArg, dims)), "in.dims");
      require(f_.LoadI64(dims, 8 * dim, "extent"), word++);
    }
    require(f_.LoadI64(f_.context(), offsetof(RtContext, workers), "workers"), unit_.shape_cache.workers);
    llvm::Value* workspace = unit_.program.outermost
                                 ? f_.LoadI64(f_.context(), offsetof(RtContext, workspace), "workspace")
                                 : Word(unit_.shape_cache.base, "workspace");
    require(workspace, unit_.shape_cache.workspace);
    f_.If(f_.b.CreateNot(fresh), /*likely=*/false, [&] {
      f_.ReturnIfFailed(f_.b.CreateCall(layout_, {f_.api(), f_.context(), f_.argument(2)}));
    });
  }

  // Stores an output's dims and gets its buffer: from the runtime (the caller's if these dims fit, else a new one) or
  // from a block that grows. If a region's caller knows the dims, the buffer is already there.
  void SettleOutput(int output) {
    const std::vector<DimExpr>& dims = unit_.program.output_dims[output];
    const ShapeCache::Output& words = unit_.shape_cache.outputs[output];
    const HostProgram::Output source = unit_.program.output_sources[output];
    if (source == HostProgram::Output::kCaller) return;
    const int number = unit_.program.output_numbers[output];
    llvm::Value* out = f_.Address(f_.argument(3), TensorByte(number, 0));
    llvm::Value* out_dims = f_.LoadPtr(out, offsetof(TensorArg, dims), "out.dims");
    for (size_t d = 0; d < dims.size(); ++d) {
      f_.Store(Word(words.dims + static_cast<int>(d), "out.dim.size"), out_dims, 8 * static_cast<int64_t>(d));
    }
    llvm::Value* bytes = Word(words.bytes, "out.bytes");
    if (source == HostProgram::Output::kGrowable) {
      llvm::Value* block = f_.LoadI64(out, offsetof(TensorArg, data), "block");
      f_.ReturnIfFailed(f_.CallApi(offsetof(RtApi, block), f_.b.getInt32Ty(),
                                   {f_.b.CreateTrunc(block, f_.b.getInt32Ty()), out, bytes}));
    } else {
      f_.ReturnIfFailed(
          f_.CallApi(offsetof(RtApi, output), f_.b.getInt32Ty(), {f_.b.getInt32(number), f_.argument(3), bytes}));
    }
  }

  // The data address of a buffer whose address changes from run to run.
  llvm::Value* DataOf(const HostBuffer& buffer) {
    const int64_t at = TensorByte(buffer.index, offsetof(TensorArg, data));
    if (buffer.place == Place::kResult) {
      return f_.LoadPtr(shape_cache_, ShapeCacheByte(unit_.shape_cache.calls[buffer.call].results) + at, "data");
    }
    return f_.LoadPtr(f_.argument(buffer.place == Place::kInput ? 2 : 3), at, "data");
  }

  void EmitStep(const Step& step) {
    const auto data_of = [&](const HostBuffer& buffer) { return DataOf(buffer); };
    if (step.call) {
      EmitCall(f_, unit_, step.index, shape_cache_, data_of);
      return EmitPoll(f_, kBetweenLaunches);
    }
    int launch = step.index;
    if (launch >= 0) {
      EmitLaunch(launch);
    } else {
      launch = unit_.program.gemms[step.gemm].launch;
      EmitGemm(f_, unit_, step.gemm, shape_cache_, data_of);
    }
    EmitPoll(f_, unit_.program.first_launch + launch);
  }

  void BindBoundary(const Launch& launch, int arguments) {
    for (size_t i = 0; i < launch.buffers.size(); ++i) {
      const HostBuffer& buffer = unit_.program.buffers[launch.buffers[i]];
      if (buffer.place == Place::kConstant || buffer.place == Place::kWorkspace) continue;
      f_.Store(DataOf(buffer), shape_cache_, ShapeCacheByte(arguments + static_cast<int>(i)));
    }
  }

  void BindCounted(const Launch& launch, int arguments) {
    const std::vector<int> counted = CountedDims(unit_.shape_cache.counters, launch);
    if (counted.empty()) return;
    DimEmitter dims = DimsOfRun(f_, unit_, shape_cache_);
    const KernelSignature signature = unit_.kernels[launch.kernel].signature();
    for (int slot : counted) {
      const int word = arguments + signature.SlotOf(KernelParameter::kDim, slot);
      f_.Store(dims.Emit(launch.dims[slot]).value, shape_cache_, ShapeCacheByte(word));
    }
  }

  void EmitLaunch(int index) {
    const Launch& launch = unit_.program.launches[index];
    const ShapeCache::LaunchWords& words = unit_.shape_cache.launches[index];
    llvm::IRBuilder<>& b = f_.b;
    BindBoundary(launch, words.arguments);
    BindCounted(launch, words.arguments);
    llvm::Value* arguments = f_.Address(shape_cache_, ShapeCacheByte(words.arguments));
    const bool on_device = unit_.place == KernelPlace::kDevice;
    const int64_t blocks_at = ShapeCacheByte(words.grid) + offsetof(LaunchGrid, blocks);
    llvm::Value* tasks = on_device ? f_.LoadI64(shape_cache_, blocks_at, "blocks") : Word(words.tasks, "tasks");
    f_.If(b.CreateICmpNE(tasks, b.getInt64(0)), /*likely=*/true, [&] {
      if (on_device) {
        llvm::Value* kernel = b.CreateTrunc(Word(words.kernel), b.getInt32Ty(), "kernel");
        llvm::Value* grid = f_.Address(shape_cache_, ShapeCacheByte(words.grid));
        f_.ReturnIfFailed(
            f_.CallApi(offsetof(RtApi, launch), b.getInt32Ty(), {b.getInt32(1), kernel, arguments, grid}));
        return;
      }
      EmitOnHost(launch, words, arguments, tasks);
    });
  }

  // Runs all tasks, once per phase.
  void EmitOnHost(const Launch& launch, const ShapeCache::LaunchWords& words, llvm::Value* arguments,
                  llvm::Value* tasks) {
    llvm::IRBuilder<>& b = f_.b;
    const EmittedKernel& called = unit_.kernels[launch.kernel];
    llvm::Function* known = KernelFunction(unit_, launch.kernel, 0);
    llvm::Value* kernel = called.on_host().versions.size() == 1
                              ? known
                              : f_.LoadPtr(shape_cache_, ShapeCacheByte(words.kernel), "kernel");
    llvm::Value* tasks_per_chunk = Word(words.tasks_per_chunk, "tasks.per.chunk");
    const auto run = [&](llvm::Value* at_once) {
      f_.IfElse(
          at_once,
          [&] {
            b.CreateCall(known->getFunctionType(), kernel, {arguments, b.getInt64(0), tasks, b.getInt64(0)});
          },
          [&] {
            f_.CallApi(offsetof(RtApi, parallel_for), b.getVoidTy(), {kernel, arguments, tasks, tasks_per_chunk});
          });
    };
    llvm::Value* one_range = b.CreateICmpULE(tasks, tasks_per_chunk, "one.range");
    const int phase_slot = called.signature().SlotOf(KernelParameter::kPhase);
    if (phase_slot < 0) return run(one_range);
    llvm::Value* word = Word(words.phases, "phases.word");
    llvm::Value* phases = b.CreateAnd(word, b.getInt64(UINT32_MAX), "phases");
    llvm::Value* serial = b.CreateLShr(word, b.getInt64(32), "serial");
    f_.While(
        b.getInt64(0), [&](llvm::Value* phase) { return b.CreateICmpNE(phase, phases); },
        [&](llvm::Value* phase) {
          f_.Store(phase, arguments, ShapeCacheByte(phase_slot));
          llvm::Value* is_serial = b.CreateTrunc(b.CreateLShr(serial, phase), b.getInt1Ty(), "is.serial");
          run(b.CreateOr(one_range, is_serial, "at.once"));
          EmitPoll(f_, kWithinLaunch);
          return b.CreateAdd(phase, b.getInt64(1), "next.phase");
        });
  }

  const HostUnit& unit_;
  llvm::Function* layout_;
  HostFunction f_;
  llvm::Value* shape_cache_;
};

// Stores the dims of output `number` to the caller's array, if it has one.
void ReportDims(HostFunction& f, int number, const std::vector<llvm::Value*>& dim_sizes) {
  llvm::Value* dims = f.LoadPtr(f.argument(3), TensorByte(number, offsetof(TensorArg, dims)), "dims");
  f.If(f.b.CreateIsNotNull(dims), /*likely=*/true, [&] {
    for (size_t d = 0; d < dim_sizes.size(); ++d) f.Store(dim_sizes[d], dims, 8 * static_cast<int64_t>(d));
  });
}

// Reports -1 for data-dependent dims: those of the outputs of all later stages.
void ReportUnknownOutputs(HostFunction& f, const HostUnit& unit) {
  const auto continuation_of = [&](const HostUnit& stage) -> const HostUnit* {
    for (const Call& call : stage.program.calls) {
      if (call.kind == Call::Kind::kContinuation) return &(*unit.all)[call.programs[0]];
    }
    return nullptr;
  };
  for (const HostUnit* rest = continuation_of(unit); rest != nullptr; rest = continuation_of(*rest)) {
    if (rest->program.versions) rest = &(*unit.all)[rest->program.versions->general];
    for (size_t i = 0; i < rest->program.output_dims.size(); ++i) {
      ReportDims(f, rest->program.output_numbers[i],
                 std::vector<llvm::Value*>(rest->program.output_dims[i].size(), f.b.getInt64(-1)));
    }
  }
}

void ReportVersions(HostFunction& f, const HostUnit& unit, const std::vector<LaunchShape>& launches) {
  llvm::Value* versions = f.LoadPtr(f.argument(4), offsetof(PlanResult, versions), "versions");
  f.If(f.b.CreateIsNotNull(versions), /*likely=*/true, [&] {
    int64_t at = 0;
    for (const HostUnit& other : *unit.all) {
      for (size_t l = 0; l < other.program.launches.size(); ++l) {
        f.Store(other.number == unit.number ? launches[l].version : f.b.getInt32(-1), versions, 4 * at++);
      }
    }
  });
}

void EmitPlan(const HostUnit& unit) {
  HostFunction f(unit.module, HostFunctionName("plan", unit.number), 5, /*internal=*/unit.number > 0);
  if (unit.number == 0) f.function()->addFnAttr(kSeldomCalled);  // others are called by the layouts around them
  HostShapes shapes(unit.program, unit.kernels, unit.place, f, f.argument(2));
  shapes.BindAndCheck();
  const std::vector<LaunchShape> launches = ShapesOfLaunches(unit, shapes);
  const WorkspaceShape workspace = shapes.Place(launches, unit.first_fit, unit.placement);
  std::vector<llvm::Value*> blocks;
  for (const Call& call : unit.program.calls) {
    size_t words = 0;
    for (const CallArgument& argument : call.arguments) words += sizeof(TensorArg) / 8 + argument.shape.size();
    llvm::IRBuilder<> entry(&f.function()->getEntryBlock(), f.function()->getEntryBlock().begin());
    blocks.push_back(entry.CreateAlloca(llvm::ArrayType::get(f.b.getInt64Ty(), words), nullptr, "arguments"));
    EmitArgumentDimSizes(f, shapes, call, blocks.back());
  }
  const DimValue bytes =
      shapes.Add({workspace.bytes, 0, INT64_MAX}, EmitInnerBytes(f, unit, blocks, [](int, llvm::Value*) {}));
  f.Store(bytes.value, f.argument(4), offsetof(PlanResult, workspace_bytes));
  if (unit.program.outermost) {
    for (size_t i = 0; i < unit.program.output_dims.size(); ++i) {
      std::vector<llvm::Value*> dim_sizes;
      for (const DimExpr& dim : unit.program.output_dims[i]) dim_sizes.push_back(shapes.Dim(dim).value);
      ReportDims(f, unit.program.output_numbers[i], dim_sizes);
    }
    ReportUnknownOutputs(f, unit);
    ReportVersions(f, unit, launches);
  }
  f.Finish();
}

// Checks that every dim is an expression over bound symbols and `counters`.
absl::Status CheckDims(const HostProgram& program, absl::Span<const DimExpr> dims, absl::string_view where,
                       absl::Span<const SymbolId> counters = {}) {
  for (const DimExpr& dim : dims) {
    if (!dim.valid()) return absl::InternalError(absl::StrCat("host program: invalid dim in ", where));
    for (SymbolId symbol : dim.Symbols()) {
      const auto binds = [symbol](const SymbolBinding& binding) { return binding.symbol == symbol; };
      if (std::none_of(program.bindings.begin(), program.bindings.end(), binds) &&
          std::find(counters.begin(), counters.end(), symbol) == counters.end()) {
        return absl::InternalError(
            absl::StrCat("host program: ", where, " needs symbol ", symbol, ", which is unbound"));
      }
    }
  }
  return absl::OkStatus();
}

absl::Status Verify(const HostProgram& program, const std::vector<EmittedKernel>& kernels) {
  if (program.versions) {
    for (const auto& [a, b] : program.versions->equal) TAILOR_RETURN_IF_ERROR(CheckDims(program, {a, b}, "a version"));
    return absl::OkStatus();
  }
  for (int i = 0; i < program.shape_check_count; ++i) {
    const ShapeCheck& check = program.checks[i];
    TAILOR_RETURN_IF_ERROR(CheckDims(program, {check.lhs, check.rhs}, absl::StrCat("check ", i)));
  }
  for (const auto& dims : program.output_dims) TAILOR_RETURN_IF_ERROR(CheckDims(program, dims, "an output"));
  for (const HostBuffer& buffer : program.buffers) {
    if (buffer.place == Place::kResult) continue;  // its dims may be data-dependent
    TAILOR_RETURN_IF_ERROR(CheckDims(program, buffer.shape, absl::StrCat("buffer ", buffer.index)));
  }
  for (const Call& call : program.calls) {
    for (const CallArgument& argument : call.arguments) {
      if (!argument.data_dependent) TAILOR_RETURN_IF_ERROR(CheckDims(program, argument.shape, call.name));
    }
    std::vector<SymbolId> counters;
    for (const Counter& counter : call.counters) counters.push_back(counter.symbol);
    if (call.decided) TAILOR_RETURN_IF_ERROR(CheckDims(program, {*call.decided}, call.name, counters));
    for (const Counter& counter : call.counters) {
      TAILOR_RETURN_IF_ERROR(CheckDims(program, {counter.next}, call.name, counters));
    }
  }
  for (const Launch& launch : program.launches) {
    TAILOR_RETURN_IF_ERROR(CheckDims(program, launch.dims, launch.name));
    const KernelPlan& plan = *kernels[launch.kernel].plan;
    if (launch.dims.size() != plan.dims.size()) {
      return absl::InternalError(absl::StrCat("host program: ", launch.name, " has ", launch.dims.size(), " dims for ",
                                              plan.dims.size(), " slots"));
    }
  }
  for (const ExternalGemm& gemm : program.gemms) {
    const std::string& name = program.launches[gemm.launch].name;
    TAILOR_RETURN_IF_ERROR(CheckDims(program, {gemm.batch, gemm.m, gemm.n, gemm.k}, name));
    TAILOR_RETURN_IF_ERROR(CheckDims(program, gemm.lhs_strides, name));
    TAILOR_RETURN_IF_ERROR(CheckDims(program, gemm.rhs_strides, name));
  }
  int blocks = 0;  // the number of blocks; buffers may share one
  for (const HostBuffer& buffer : program.buffers) {
    if (buffer.place == Place::kWorkspace) blocks = std::max(blocks, buffer.index + 1);
  }
  if (program.memory.order.size() != static_cast<size_t>(blocks))
    return absl::InternalError("host program: workspace without a plan");
  return absl::OkStatus();
}

absl::Status EmitPlacement(HostUnit& unit) {
  const std::vector<int32_t> table = PlacementTable(unit.program.memory);
  if (table.empty()) return absl::OkStatus();
  TAILOR_ASSIGN_OR_RETURN(unit.first_fit, EmitFirstFit(unit.module));
  llvm::Constant* words = llvm::ConstantDataArray::get(unit.module.getContext(), table);
  unit.placement = new llvm::GlobalVariable(unit.module, words->getType(), /*isConstant=*/true,
                                            llvm::GlobalValue::InternalLinkage, words, "tailor.placement");
  return absl::OkStatus();
}

template <typename Matches>
bool AnyCall(const std::vector<HostProgram>& programs, Matches matches) {
  return std::any_of(programs.begin(), programs.end(), [&](const HostProgram& program) {
    return std::any_of(program.calls.begin(), program.calls.end(), matches);
  });
}

// The number of memory blocks that grow during a run.
uint64_t GrownBlocks(const std::vector<HostProgram>& programs) {
  int last = -1;
  for (const HostProgram& program : programs) {
    last = std::max(last, program.own_workspace);
    for (const Call& call : program.calls) {
      for (const CarriedValue& carried : call.carried) last = std::max(last, carried.grown[1]);
      for (const Call::Result& result : call.results) last = std::max(last, result.grown);
    }
  }
  return static_cast<uint64_t>(last + 1);
}

}  // namespace

KernelSignature EmittedKernel::signature() const {
  if (const auto* host = std::get_if<OnHost>(&launches)) return KernelSignature::OnHost(*plan, *host->schedule);
  const std::vector<DeviceLaunch>& versions = on_device().versions;
  const bool cooperative =
      std::any_of(versions.begin(), versions.end(), [](const DeviceLaunch& version) { return version.cooperative; });
  using Sync = KernelSignature::Sync;
  return KernelSignature(*plan, {.sync = cooperative ? Sync::kGridBarriers : Sync::kNone});
}

EmittedKernel KernelOnHost(std::string symbol, const KernelPlan* plan, const Schedule* schedule) {
  EmittedKernel::OnHost launches{schedule, {}};
  for (const Version& version : schedule->versions) {
    if (const auto& parts = version.parts) {
      launches.versions.push_back({.guards = version.guards,
                                   .tasks = parts->tasks,
                                   .tasks_per_chunk = 1,
                                   .scratch_bytes = parts->scratch_bytes,
                                   .phases = {{parts->phases, parts->serial, parts->count}}});
    } else {
      launches.versions.push_back(
          {version.guards, schedule->tasks, schedule->tasks_per_chunk, schedule->scratch_bytes});
    }
  }
  return {std::move(symbol), plan, std::move(launches)};
}

absl::StatusOr<HostEmission> EmitHostPrograms(const std::vector<HostProgram>& programs,
                                              const std::vector<EmittedKernel>& kernels, KernelPlace place,
                                              llvm::Module& module) {
  int shape_cache_slots = 0;
  std::vector<ShapeCache> shape_caches = LayOutShapeCaches(programs, kernels, place, &shape_cache_slots);
  std::vector<HostUnit> units;
  for (size_t i = 0; i < programs.size(); ++i) {
    TAILOR_RETURN_IF_ERROR(Verify(programs[i], kernels));
    units.push_back({static_cast<int>(i), place, programs[i], kernels, module, std::move(shape_caches[i])});
  }
  for (auto unit = units.rbegin(); unit != units.rend(); ++unit) {  // callers have lower numbers
    unit->all = &units;
    if (unit->program.versions) {
      EmitVersions(*unit);
      continue;
    }
    TAILOR_RETURN_IF_ERROR(EmitPlacement(*unit));
    llvm::Function* layout = EmitLayout(*unit);
    RunEmitter(*unit, layout).Emit();
    EmitPlan(*unit);
  }
  const int64_t fault_word = units.empty() ? -1 : units[0].shape_cache.fault;
  // Every call of a program depends on a value that a kernel computed, unless the host decides.
  const bool reads_back = place == KernelPlace::kDevice && AnyCall(programs, [](const Call& call) {
                            return call.kind != Call::Kind::kCustom && !call.decided;
                          });
  const bool offers_products =
      std::any_of(programs.begin(), programs.end(), [](const HostProgram& program) { return !program.gemms.empty(); });
  return HostEmission{static_cast<uint64_t>(shape_cache_slots), GrownBlocks(programs), fault_word, reads_back,
                      offers_products};
}

}  // namespace tailor::host
