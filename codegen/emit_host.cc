// Three functions make a host program. `tailor.layout` (emit_layout.cc) computes what depends on dims alone into the
// session's memo. `tailor_run` calls it when the dims are not those of the memo, settles the output buffers,
// and launches. `tailor_plan` reports what layout would decide, from the same code.
#include "codegen/emit_host.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "codegen/emit_first_fit.h"
#include "codegen/host_function.h"
#include "codegen/host_unit.h"
#include "graph/status_macros.h"

namespace tailor {
namespace {

using Place = HostBuffer::Place;

int64_t TensorByte(int index, size_t field) { return sizeof(TensorArg) * index + field; }

class RunEmitter {
 public:
  RunEmitter(const HostUnit& unit, llvm::Function* layout)
      : unit_(unit),
        layout_(layout),
        f_(unit.module, "tailor_run", 4, /*internal=*/false),
        memo_(f_.LoadPtr(f_.context(), offsetof(RtContext, memo), "memo")) {}

  void Emit() {
    EnsureLayout();
    for (int i = 0; i < static_cast<int>(unit_.memo.outputs.size()); ++i) SettleOutput(i);
    if (unit_.memo.fault >= 0) f_.Store(f_.b.getInt64(0), memo_, MemoByte(unit_.memo.fault));
    llvm::Value* trace = f_.LoadPtr(f_.api(), offsetof(RtApi, trace), "trace");
    traced_ = f_.b.CreateIsNotNull(trace, "traced");
    for (size_t i = 0; i < unit_.program.launches.size(); ++i) EmitLaunch(static_cast<int>(i));
    if (unit_.memo.fault >= 0) ReportFault();
    f_.Finish();
  }

 private:
  llvm::Value* Word(int word, const llvm::Twine& name = "") { return f_.LoadI64(memo_, MemoByte(word), name); }

  // One branch decides whether the memo holds the layout of this run.
  void EnsureLayout() {
    llvm::Value* fresh = f_.b.CreateICmpNE(Word(0), f_.b.getInt64(0));
    const auto require = [&](llvm::Value* current, int word) {
      fresh = f_.b.CreateAnd(fresh, f_.b.CreateICmpEQ(current, Word(word)), "fresh");
    };
    int word = unit_.memo.first_key;
    for (const auto& [input, dim] : unit_.memo.keys) {
      llvm::Value* dims = f_.LoadPtr(f_.argument(2), TensorByte(input, offsetof(TensorArg, dims)), "in.dims");
      require(f_.LoadI64(dims, 8 * dim, "extent"), word++);
    }
    require(f_.LoadI64(f_.context(), offsetof(RtContext, workers), "workers"), unit_.memo.workers);
    require(f_.LoadI64(f_.context(), offsetof(RtContext, workspace), "workspace"), unit_.memo.workspace);
    f_.If(f_.b.CreateNot(fresh), /*likely=*/false, [&] {
      f_.ReturnIfFailed(f_.b.CreateCall(layout_, {f_.api(), f_.context(), f_.argument(2)}));
    });
  }

  // Tells the runtime the output's dims and gets its buffer: the caller's, if these dims fit it, or a new one.
  void SettleOutput(int output) {
    const std::vector<DimExpr>& dims = unit_.program.output_dims[output];
    const HostMemo::Output& words = unit_.memo.outputs[output];
    llvm::Value* out = f_.Address(f_.argument(3), TensorByte(output, 0));
    llvm::Value* out_dims = f_.LoadPtr(out, offsetof(TensorArg, dims), "out.dims");
    for (size_t d = 0; d < dims.size(); ++d) {
      f_.Store(Word(words.dims + static_cast<int>(d), "out.extent"), out_dims, 8 * static_cast<int64_t>(d));
    }
    f_.ReturnIfFailed(f_.CallApi(offsetof(RtApi, output), f_.b.getInt32Ty(),
                                 {f_.b.getInt32(output), f_.argument(3), Word(words.bytes, "out.bytes")}));
  }

  void BindBoundary(const Launch& launch, int arguments) {
    for (size_t i = 0; i < launch.buffers.size(); ++i) {
      const HostBuffer& buffer = unit_.program.buffers[launch.buffers[i]];
      if (buffer.place != Place::kInput && buffer.place != Place::kOutput) continue;
      llvm::Value* tensors = f_.argument(buffer.place == Place::kInput ? 2 : 3);
      llvm::Value* data = f_.LoadPtr(tensors, TensorByte(buffer.index, offsetof(TensorArg, data)), "data");
      f_.Store(data, memo_, MemoByte(arguments + static_cast<int>(i)));
    }
  }

  void Trace(int launch, int phase) {
    f_.If(traced_, /*likely=*/false, [&] {
      f_.CallApi(offsetof(RtApi, trace), f_.b.getVoidTy(), {f_.b.getInt32(launch), f_.b.getInt32(phase)});
    });
  }

  void EmitLaunch(int index) {
    const Launch& launch = unit_.program.launches[index];
    const HostMemo::LaunchWords& words = unit_.memo.launches[index];
    llvm::IRBuilder<>& b = f_.b;
    BindBoundary(launch, words.arguments);
    Trace(index, 0);
    const bool one_version = unit_.kernels[launch.kernel].schedule->versions.size() == 1;
    llvm::Function* known = KernelFunction(unit_, launch.kernel, 0);
    llvm::Value* kernel = one_version ? known : f_.LoadPtr(memo_, MemoByte(words.kernel), "kernel");
    llvm::Value* arguments = f_.Address(memo_, MemoByte(words.arguments));
    llvm::Value* tasks = Word(words.tasks, "tasks");
    llvm::Value* grain = Word(words.grain, "grain");
    f_.If(b.CreateICmpNE(tasks, b.getInt64(0)), /*likely=*/true, [&] {
      f_.IfElse(
          b.CreateICmpULE(tasks, grain),
          [&] {
            b.CreateCall(known->getFunctionType(), kernel, {arguments, b.getInt64(0), tasks, b.getInt64(0)});
          },
          [&] {
            f_.CallApi(offsetof(RtApi, parallel_for), b.getVoidTy(), {kernel, arguments, tasks, grain});
          });
    });
    Trace(index, 1);
  }

  void ReportFault() {
    llvm::Value* flag = Word(unit_.memo.fault, "fault");
    llvm::Value* check = f_.b.CreateTrunc(f_.b.CreateSub(flag, f_.b.getInt64(1)), f_.b.getInt32Ty(), "fault.check");
    f_.FailIf(f_.b.CreateICmpNE(flag, f_.b.getInt64(0)), check, Word(unit_.memo.fault + 1), Word(unit_.memo.fault + 2));
  }

  const HostUnit& unit_;
  llvm::Function* layout_;
  HostFunction f_;
  llvm::Value* memo_;
  llvm::Value* traced_ = nullptr;
};

void EmitPlan(const HostUnit& unit) {
  HostFunction f(unit.module, "tailor_plan", 5, /*internal=*/false);
  HostShapes shapes(unit.program, unit.kernels, f, f.argument(2));
  shapes.BindAndCheck();
  const std::vector<LaunchShape> launches = ShapesOfLaunches(unit, shapes);
  const WorkspaceShape workspace = shapes.Place(launches, unit.first_fit, unit.placement);
  for (size_t i = 0; i < unit.program.output_dims.size(); ++i) {
    std::vector<llvm::Value*> extents;
    for (const DimExpr& dim : unit.program.output_dims[i]) extents.push_back(shapes.Dim(dim).value);
    llvm::Value* dims = f.LoadPtr(f.argument(3), TensorByte(static_cast<int>(i), offsetof(TensorArg, dims)), "dims");
    f.If(f.b.CreateIsNotNull(dims), /*likely=*/true, [&] {
      for (size_t d = 0; d < extents.size(); ++d) f.Store(extents[d], dims, 8 * static_cast<int64_t>(d));
    });
  }
  f.Store(workspace.bytes, f.argument(4), offsetof(PlanResult, workspace_bytes));
  llvm::Value* versions = f.LoadPtr(f.argument(4), offsetof(PlanResult, versions), "versions");
  f.If(f.b.CreateIsNotNull(versions), /*likely=*/true, [&] {
    for (size_t i = 0; i < launches.size(); ++i) f.Store(launches[i].version, versions, 4 * static_cast<int64_t>(i));
  });
  f.Finish();
}

// Every dim of the program must be an expression over bound symbols.
absl::Status CheckDims(const HostProgram& program, absl::Span<const DimExpr> dims, absl::string_view where) {
  for (const DimExpr& dim : dims) {
    if (!dim.valid()) return absl::InternalError(absl::StrCat("host program: invalid dim in ", where));
    for (SymbolId symbol : dim.Symbols()) {
      const auto binds = [symbol](const SymbolBinding& binding) { return binding.symbol == symbol; };
      if (std::none_of(program.bindings.begin(), program.bindings.end(), binds)) {
        return absl::InternalError(
            absl::StrCat("host program: ", where, " needs symbol ", symbol, ", which is unbound"));
      }
    }
  }
  return absl::OkStatus();
}

absl::Status Verify(const HostProgram& program, const std::vector<EmittedKernel>& kernels) {
  for (int i = 0; i < program.shape_check_count; ++i) {
    const ShapeCheck& check = program.checks[i];
    TAILOR_RETURN_IF_ERROR(CheckDims(program, {check.lhs, check.rhs}, absl::StrCat("check ", i)));
  }
  for (const auto& dims : program.output_dims) TAILOR_RETURN_IF_ERROR(CheckDims(program, dims, "an output"));
  for (const HostBuffer& buffer : program.buffers) {
    TAILOR_RETURN_IF_ERROR(CheckDims(program, buffer.shape, absl::StrCat("buffer ", buffer.index)));
  }
  for (const Launch& launch : program.launches) {
    TAILOR_RETURN_IF_ERROR(CheckDims(program, launch.dims, launch.name));
    const KernelPlan& plan = *kernels[launch.kernel].plan;
    if (launch.dims.size() != plan.dims.size()) {
      return absl::InternalError(absl::StrCat("host program: ", launch.name, " has ", launch.dims.size(), " dims for ",
                                              plan.dims.size(), " slots"));
    }
  }
  size_t blocks = 0;
  for (const HostBuffer& buffer : program.buffers) blocks += buffer.place == Place::kWorkspace;
  if (program.memory.order.size() != blocks) return absl::InternalError("host program: workspace without a plan");
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

}  // namespace

absl::StatusOr<HostEmission> EmitHostProgram(const HostProgram& program, const std::vector<EmittedKernel>& kernels,
                                             llvm::Module& module) {
  TAILOR_RETURN_IF_ERROR(Verify(program, kernels));
  HostUnit unit{program, kernels, module, LayOutMemo(program, kernels)};
  TAILOR_RETURN_IF_ERROR(EmitPlacement(unit));
  llvm::Function* layout = EmitLayout(unit);
  RunEmitter(unit, layout).Emit();
  EmitPlan(unit);
  return HostEmission{static_cast<uint64_t>(unit.memo.size)};
}

}  // namespace tailor
