#include "codegen/driver/compile.h"

#include <algorithm>
#include <optional>
#include <thread>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "codegen/driver/compile_cuda.h"
#include "codegen/driver/compile_variants.h"
#include "codegen/driver/describe_program.h"
#include "codegen/driver/memory_estimate.h"
#include "codegen/driver/pack_constants.h"
#include "codegen/driver/share_tables.h"
#include "codegen/link/target_machine.h"
#include "codegen/lower/lower_graph.h"
#include "codegen/lower/lowered_program.h"
#include "graph/dump.h"
#include "graph/status_macros.h"

namespace tailor::driver {
namespace {

// Each once; those that need most of a machine first.
struct Targets {
  std::vector<CpuTarget> cpus;
  std::vector<cuda::CudaTarget> gpus;
};

template <class Target>
void AddOnce(Target target, std::vector<Target>& targets) {
  const bool known = std::any_of(targets.begin(), targets.end(), [&](const auto& t) { return t.name == target.name; });
  if (!known) targets.push_back(std::move(target));
}

bool NamesGpu(const std::string& name) { return absl::StartsWith(name, "sm_") || name == "simt"; }

// The targets asked for (none: every CPU level).
absl::StatusOr<Targets> ChooseTargets(std::vector<std::string> names) {
  if (names.empty()) {
    for (const CpuTarget& level : CpuLevels()) names.push_back(level.name);
  }
  const auto all_gpus = std::find(names.begin(), names.end(), "cuda");
  if (all_gpus != names.end()) {
    const auto at = names.erase(all_gpus);
    names.insert(at, {"sm_90a", "sm_90", "sm_80"});
  }
  Targets targets;
  for (const std::string& name : names) {
    if (NamesGpu(name)) {
      TAILOR_ASSIGN_OR_RETURN(cuda::CudaTarget target, cuda::FindCudaTarget(name));
      AddOnce(std::move(target), targets.gpus);
    } else {
      TAILOR_ASSIGN_OR_RETURN(CpuTarget target, name == "host" ? HostCpuTarget() : FindCpuTarget(name));
      AddOnce(std::move(target), targets.cpus);
    }
  }
  std::stable_sort(targets.cpus.begin(), targets.cpus.end(),
                   [](const CpuTarget& a, const CpuTarget& b) { return a.features.size() > b.features.size(); });
  // "sm_90a" before "sm_90" before "sm_80".
  std::stable_sort(targets.gpus.begin(), targets.gpus.end(),
                   [](const cuda::CudaTarget& a, const cuda::CudaTarget& b) { return a.name > b.name; });
  return targets;
}

bool MultipliesBF16(const lower::LoweredProgram& lowered) {
  return std::any_of(lowered.kernels.begin(), lowered.kernels.end(), [](const KernelPlan& plan) {
    return std::any_of(plan.buffers.begin(), plan.buffers.end(),
                       [](const Buffer& buffer) { return buffer.layout == ConstantLayout::kPairPanels16; });
  });
}

// A program without products in bf16 gains nothing from levels that have instructions for them.
absl::StatusOr<std::vector<CpuTarget>> LevelsNeeded(const std::vector<CpuTarget>& targets,
                                                    const lower::LoweredProgram& lowered) {
  if (MultipliesBF16(lowered)) return targets;
  std::vector<std::string> names;
  for (const CpuTarget& target : targets) {
    const bool level = std::any_of(CpuLevels().begin(), CpuLevels().end(),
                                   [&](const CpuTarget& known) { return known.name == target.name; });
    names.push_back(level ? target.level : target.name);
  }
  TAILOR_ASSIGN_OR_RETURN(Targets needed, ChooseTargets(std::move(names)));
  return std::move(needed.cpus);
}

// What changes the bytes, where it is not the default.
std::string OptionsText(const Targets& targets, const CompileOptions& options) {
  std::vector<std::string> names;
  for (const CpuTarget& target : targets.cpus) names.push_back(target.name);
  for (const cuda::CudaTarget& target : targets.gpus) names.push_back(target.name);
  std::string text = absl::StrCat("targets=", absl::StrJoin(names, ","));
  const CodeBounds usual, &bounds = options.bounds;
  if (bounds.versions != usual.versions) absl::StrAppend(&text, " max_versions=", bounds.versions);
  if (bounds.bytes != usual.bytes) absl::StrAppend(&text, " max_code_bytes=", bounds.bytes);
  if (!options.donated.empty()) absl::StrAppend(&text, " donated=", absl::StrJoin(options.donated, ","));
  if (options.offer_products) absl::StrAppend(&text, " offer_products");
  if (options.allow_tf32) absl::StrAppend(&text, " allow_tf32");
  if (options.direct_convolutions) absl::StrAppend(&text, " direct_convolutions");
  return text;
}

// By input: whether it is donated.
absl::StatusOr<std::vector<bool>> Donated(const Graph& graph, const std::vector<std::string>& names) {
  std::vector<bool> donated(graph.inputs().size(), false);
  for (const std::string& name : names) {
    const auto is_it = [&](NodeId input) { return graph.node(input).string("name") == name; };
    const auto found = std::find_if(graph.inputs().begin(), graph.inputs().end(), is_it);
    if (found == graph.inputs().end()) {
      return absl::InvalidArgumentError(absl::StrCat("donated input \"", name, "\" is no input of the graph"));
    }
    donated[found - graph.inputs().begin()] = true;
  }
  return donated;
}

// Tells the caller where compilation is, and turns its refusal into a status.
class Progress {
 public:
  explicit Progress(const CompileOptions& options) : options_(options) {}
  absl::Status Report(const char* phase, double done) const {
    if (!options_.progress || options_.progress(phase, done)) return absl::OkStatus();
    return absl::CancelledError(absl::StrCat("compilation was cancelled during ", phase));
  }

 private:
  const CompileOptions& options_;
};

// The graph as it is for CPUs and as it is for GPUs: what is fused depends on the kind of machine.
struct Lowered {
  std::optional<lower::LoweredProgram> cpu, gpu;
  std::vector<const lower::LoweredProgram*> all() const {
    std::vector<const lower::LoweredProgram*> programs;
    if (cpu) programs.push_back(&*cpu);
    if (gpu) programs.push_back(&*gpu);
    return programs;
  }
};

absl::StatusOr<Lowered> LowerFor(const Targets& targets, const Graph& graph, const lower::LowerOptions& options) {
  Lowered lowered;
  if (!targets.cpus.empty()) {
    lower::LowerOptions of_cpu = options;
    of_cpu.winograd &= targets.gpus.empty();  // they read the same weights as the others
    TAILOR_ASSIGN_OR_RETURN(lowered.cpu, lower::LowerGraph(graph, targets.cpus.front().traits, of_cpu));
  }
  if (!targets.gpus.empty()) {
    TAILOR_ASSIGN_OR_RETURN(lowered.gpu, lower::LowerGraph(graph, targets.gpus.back().traits, options));
  }
  if (lowered.cpu && lowered.gpu) TAILOR_RETURN_IF_ERROR(ShareTables(*lowered.cpu, *lowered.gpu));
  return lowered;
}

absl::Status DumpKernels(const lower::LoweredProgram& lowered, int number) {
  if (!DumpWanted()) return absl::OkStatus();
  std::string kernels;
  for (const KernelPlan& plan : lowered.kernels) absl::StrAppend(&kernels, plan.name, "\n", plan.Text(), "\n");
  return DumpPass("kernels", number, "lowered", kernels);
}

// Outputs that are in an input's memory where the program says so, but not as `lowered` for a device writes them.
std::vector<int32_t> OutputsApart(const Program& program, const lower::LoweredProgram& lowered) {
  const std::vector<int>& memory_of = lowered.programs[0].memory_of;
  std::vector<int32_t> apart;
  for (size_t i = 0; i < program.outputs.size(); ++i) {
    const int there = i < memory_of.size() ? memory_of[i] : -1;
    if (program.outputs[i].memory_of != there) apart.push_back(static_cast<int32_t>(i));
  }
  return apart;
}

// `compiled` then owns what the variants are made of. What assembled kernels, or why nothing did, is said once.
void Add(std::vector<CompiledVariant> variants, CompiledProgram& compiled) {
  for (CompiledVariant& variant : variants) {
    auto parts = std::make_shared<const CompiledVariant>(std::move(variant));
    Variant added = parts->variant;
    added.image = parts->image.bytes;
    for (const cuda::BuiltDeviceImage& image : parts->device_images) {
      added.device_images.push_back({image.target, image.kind, image.bytes});
    }
    compiled.program.variants.push_back(std::move(added));
    std::string& said = compiled.program.provenance.options;
    const std::string assembler = absl::StrCat(" assembler=", parts->assembler);
    if (!parts->assembler.empty() && !absl::StrContains(said, assembler)) said += assembler;
    compiled.storage.push_back(std::move(parts));
  }
}

}  // namespace

absl::StatusOr<CompiledProgram> Compile(const Graph& graph, const CompileOptions& options) {
  const Progress progress(options);
  int threads = options.threads > 0 ? options.threads : std::max(1u, std::thread::hardware_concurrency());
  TAILOR_ASSIGN_OR_RETURN(Targets targets, ChooseTargets(options.targets));
  for (cuda::CudaTarget& target : targets.gpus) target.traits.tf32_products = options.allow_tf32;

  TAILOR_ASSIGN_OR_RETURN(const std::vector<bool> donated, Donated(graph, options.donated));
  TAILOR_ASSIGN_OR_RETURN(const Lowered lowered, LowerFor(targets, graph,
                                                          {.donated = donated,
                                                           .versions = options.bounds.versions > 1,
                                                           .offer_products = options.offer_products,
                                                           .winograd = !options.direct_convolutions,
                                                           .at_pass = [&](const char* phase, const char* pass) {
                                                             return progress.Report(
                                                                 absl::StrCat(phase, " ", pass).c_str(), 0);
                                                           }}));
  const std::vector<const lower::LoweredProgram*> programs = lowered.all();
  for (size_t i = 0; i < programs.size(); ++i) {
    TAILOR_RETURN_IF_ERROR(DumpKernels(*programs[i], static_cast<int>(i)));
  }
  if (lowered.cpu) {
    TAILOR_ASSIGN_OR_RETURN(targets.cpus, LevelsNeeded(targets.cpus, *lowered.cpu));
  }
  if (options.memory_limit > 0) {
    std::vector<MemoryEstimate> estimates;
    if (lowered.cpu) estimates.push_back(EstimateOnCpus(*lowered.cpu, targets.cpus.size()));
    if (lowered.gpu) estimates.push_back(EstimateOnGpus(*lowered.gpu, targets.gpus.size()));
    TAILOR_ASSIGN_OR_RETURN(threads, ThreadsWithin(options.memory_limit, estimates, threads));
  }

  const auto packing = [&](double done) { return progress.Report("pack", done); };
  TAILOR_RETURN_IF_ERROR(packing(0));
  CompiledProgram compiled;
  compiled.program = DescribeProgram(graph, programs, OptionsText(targets, options));
  TAILOR_ASSIGN_OR_RETURN(PackedConstants packed, PackConstants(*programs[0], threads, packing));
  compiled.program.constants = std::move(packed.constants);
  compiled.storage = std::move(packed.storage);

  const double share = 1.0 / static_cast<double>(programs.size());
  if (lowered.cpu) {
    const auto emitting = [&](double done) { return progress.Report("emit", done * share); };
    TAILOR_ASSIGN_OR_RETURN(std::vector<CompiledVariant> variants,
                            CompileVariants(*lowered.cpu, targets.cpus, options.bounds, threads, emitting));
    Add(std::move(variants), compiled);
  }
  if (lowered.gpu) {
    const auto emitting = [&](double done) { return progress.Report("emit", 1 - share + done * share); };
    TAILOR_ASSIGN_OR_RETURN(std::vector<CompiledVariant> variants,
                            CompileCudaVariants(*lowered.gpu, targets.gpus, options.bounds, threads, emitting));
    for (CompiledVariant& variant : variants) {
      variant.variant.outputs_apart = OutputsApart(compiled.program, *lowered.gpu);
    }
    Add(std::move(variants), compiled);
  }
  TAILOR_RETURN_IF_ERROR(progress.Report("done", 1));
  return compiled;
}

}  // namespace tailor::driver
