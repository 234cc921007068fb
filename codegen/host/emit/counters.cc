#include "codegen/host/emit/counters.h"

#include <algorithm>

namespace tailor::host {
namespace {

bool Mentions(const DimExpr& e, SymbolId symbol) {
  const std::vector<SymbolId> symbols = e.Symbols();
  return std::binary_search(symbols.begin(), symbols.end(), symbol);
}

bool AnyMentions(absl::Span<const DimExpr> dims, SymbolId symbol) {
  return std::any_of(dims.begin(), dims.end(), [symbol](const DimExpr& dim) { return Mentions(dim, symbol); });
}

bool GuardReads(const Guard& guard, int slot) {
  return guard.slot == slot || guard.other == slot || Mentions(guard.value.expr(), slot);
}

// Whether the version of a launch, its tasks, blocks or scratch depend on dim slot `slot`.
bool SlotDecides(const EmittedKernel& kernel, int slot) {
  const auto guarded = [&](const auto& version) {
    return std::any_of(version.guards.begin(), version.guards.end(),
                       [&](const Guard& guard) { return GuardReads(guard, slot); });
  };
  const auto mentions = [&](const SlotExpr& e) { return Mentions(e.expr(), slot); };
  const std::vector<Axis>& axes = kernel.plan->axes;
  if (std::any_of(axes.begin(), axes.end(), [&](const Axis& axis) { return axis.dim_size.slot == slot; })) return true;
  if (const auto* host = std::get_if<EmittedKernel::OnHost>(&kernel.launches)) {
    return std::any_of(host->versions.begin(), host->versions.end(), [&](const HostLaunch& version) {
      return guarded(version) || mentions(version.tasks) || mentions(version.tasks_per_chunk) ||
             mentions(version.scratch_bytes) || (version.phases && mentions(version.phases->parts));
    });
  }
  const std::vector<DeviceLaunch>& versions = kernel.on_device().versions;
  return std::any_of(versions.begin(), versions.end(), [&](const DeviceLaunch& version) {
    return guarded(version) || mentions(version.clocks) || mentions(version.blocks) || mentions(version.shared_bytes) ||
           mentions(version.scratch_bytes) || mentions(version.parts);
  });
}

// Whether anything that the layout computes depends on the symbol, other than values that kernels read. Has to know all
// dims of a host program and all expressions of launches.
bool Decides(const HostProgram& program, const std::vector<EmittedKernel>& kernels, SymbolId symbol, int input) {
  for (int i = 0; i < program.shape_check_count; ++i) {
    const ShapeCheck& check = program.checks[i];
    if (check.input == input || AnyMentions({check.lhs, check.rhs}, symbol)) return true;
  }
  for (const std::vector<DimExpr>& dims : program.output_dims) {
    if (AnyMentions(dims, symbol)) return true;
  }
  for (const HostBuffer& buffer : program.buffers) {
    const bool is_counter = buffer.place == HostBuffer::Place::kInput && buffer.index == input;
    if (!is_counter && AnyMentions(buffer.shape, symbol)) return true;
  }
  for (const Call& call : program.calls) {
    for (const CallArgument& argument : call.arguments) {
      if (AnyMentions(argument.shape, symbol)) return true;
    }
    for (const Call::Result& result : call.results) {
      if (AnyMentions(result.shape, symbol)) return true;
    }
  }
  for (const ExternalGemm& gemm : program.gemms) {
    if (AnyMentions({gemm.batch, gemm.m, gemm.n, gemm.k}, symbol) || AnyMentions(gemm.lhs_strides, symbol) ||
        AnyMentions(gemm.rhs_strides, symbol)) {
      return true;
    }
  }
  return std::any_of(program.launches.begin(), program.launches.end(), [&](const Launch& launch) {
    for (size_t slot = 0; slot < launch.dims.size(); ++slot) {
      if (Mentions(launch.dims[slot], symbol) && SlotDecides(kernels[launch.kernel], static_cast<int>(slot)))
        return true;
    }
    return false;
  });
}

}  // namespace

std::map<SymbolId, int> CountersInKernels(const HostProgram& program, const std::vector<EmittedKernel>& kernels) {
  std::map<SymbolId, int> counters;
  for (const SymbolBinding& binding : program.bindings) {
    const bool counts = std::count(program.counters.begin(), program.counters.end(), binding.input) > 0;
    if (counts && !Decides(program, kernels, binding.symbol, binding.input)) {
      counters.emplace(binding.symbol, binding.input);
    }
  }
  return counters;
}

std::set<SymbolId> SymbolsOfRun(const HostProgram& program, const std::map<SymbolId, int>& counters) {
  std::set<SymbolId> read;
  const auto add = [&](const DimExpr& e) {
    for (SymbolId symbol : e.Symbols()) read.insert(symbol);
  };
  for (const Launch& launch : program.launches) {
    for (int slot : CountedDims(counters, launch)) add(launch.dims[slot]);
  }
  for (const Call& call : program.calls) {
    if (call.decided) add(*call.decided);
    for (const Counter& counter : call.counters) add(counter.next);
  }
  for (const Call& call : program.calls) {
    for (const Counter& counter : call.counters) read.erase(counter.symbol);
  }
  for (const auto& [symbol, input] : counters) read.erase(symbol);
  return read;
}

std::vector<int> CountedDims(const std::map<SymbolId, int>& counters, const Launch& launch) {
  std::vector<int> counted;
  for (size_t slot = 0; slot < launch.dims.size(); ++slot) {
    const bool counts = std::any_of(counters.begin(), counters.end(),
                                    [&](const auto& counter) { return Mentions(launch.dims[slot], counter.first); });
    if (counts) counted.push_back(static_cast<int>(slot));
  }
  return counted;
}

DimEmitter DimsOfRun(HostFunction& f, const HostUnit& unit, llvm::Value* shape_cache) {
  DimEmitter dims(
      f.b, [&f](llvm::Value* overflows) { f.FailIf(overflows, kCheckOverflow, f.b.getInt64(0), f.b.getInt64(0)); });
  const auto set = [&](SymbolId symbol, llvm::Value* value) { dims.SetSymbol(symbol, {value, 0, INT64_MAX}); };
  for (const auto& [symbol, word] : unit.shape_cache.symbols) {
    set(symbol, f.LoadI64(shape_cache, ShapeCacheByte(word), "symbol"));
  }
  for (const auto& [symbol, input] : unit.shape_cache.counters) {
    llvm::Value* sizes = f.LoadPtr(f.argument(2), TensorByte(input, offsetof(TensorArg, dims)), "counter.dims");
    set(symbol, f.LoadI64(sizes, 0, "counter"));
  }
  return dims;
}

}  // namespace tailor::host
