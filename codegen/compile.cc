#include "codegen/compile.h"

#include <algorithm>
#include <thread>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "codegen/build_host_program.h"
#include "codegen/compile_variants.h"
#include "codegen/describe_program.h"
#include "codegen/pack_constants.h"
#include "codegen/target_machine.h"
#include "fusion/dump.h"
#include "graph/status_macros.h"

namespace tailor {
namespace {

// The targets asked for (none: every CPU level), each once, those that need most of a machine first.
absl::StatusOr<std::vector<CpuTarget>> ChooseTargets(std::vector<std::string> names) {
  if (names.empty()) {
    for (const CpuTarget& level : CpuLevels()) names.push_back(level.name);
  }
  std::vector<CpuTarget> targets;
  for (const std::string& name : names) {
    TAILOR_ASSIGN_OR_RETURN(CpuTarget target, name == "host" ? HostCpuTarget() : FindCpuTarget(name));
    const bool known =
        std::any_of(targets.begin(), targets.end(), [&](const auto& t) { return t.name == target.name; });
    if (!known) targets.push_back(std::move(target));
  }
  std::stable_sort(targets.begin(), targets.end(),
                   [](const CpuTarget& a, const CpuTarget& b) { return a.features.size() > b.features.size(); });
  return targets;
}

bool MultipliesBF16(const LoweredProgram& lowered) {
  return std::any_of(lowered.kernels.begin(), lowered.kernels.end(), [](const KernelPlan& plan) {
    return std::any_of(plan.buffers.begin(), plan.buffers.end(),
                       [](const Buffer& buffer) { return buffer.layout == ConstantLayout::kPairPanels16; });
  });
}

// A program without products in bf16 gains nothing from levels that have instructions for them.
absl::StatusOr<std::vector<CpuTarget>> LevelsNeeded(const std::vector<CpuTarget>& targets,
                                                    const LoweredProgram& lowered) {
  if (MultipliesBF16(lowered)) return targets;
  std::vector<std::string> names;
  for (const CpuTarget& target : targets) {
    const bool level = std::any_of(CpuLevels().begin(), CpuLevels().end(),
                                   [&](const CpuTarget& known) { return known.name == target.name; });
    names.push_back(level ? target.level : target.name);
  }
  return ChooseTargets(std::move(names));
}

std::string OptionsText(const std::vector<CpuTarget>& targets) {
  return absl::StrCat("targets=", absl::StrJoin(targets, ",", [](std::string* out, const CpuTarget& target) {
                        out->append(target.name);
                      }));
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

absl::Status DumpKernels(const LoweredProgram& lowered) {
  if (!DumpWanted()) return absl::OkStatus();
  std::string kernels;
  for (const KernelPlan& plan : lowered.kernels) absl::StrAppend(&kernels, plan.name, "\n", plan.Text(), "\n");
  return DumpPass("kernels", 0, "lowered", kernels);
}

}  // namespace

absl::StatusOr<CompiledProgram> Compile(const Graph& graph, const CompileOptions& options) {
  const Progress progress(options);
  const int threads = options.threads > 0 ? options.threads : std::max(1u, std::thread::hardware_concurrency());
  TAILOR_ASSIGN_OR_RETURN(std::vector<CpuTarget> targets, ChooseTargets(options.targets));

  TAILOR_RETURN_IF_ERROR(progress.Report("analyse", 0));
  TAILOR_ASSIGN_OR_RETURN(LoweredProgram lowered, LowerGraph(graph, targets.front().traits));
  TAILOR_RETURN_IF_ERROR(DumpKernels(lowered));
  TAILOR_ASSIGN_OR_RETURN(targets, LevelsNeeded(targets, lowered));

  CompiledProgram compiled;
  compiled.program = DescribeProgram(graph, lowered, OptionsText(targets));
  TAILOR_RETURN_IF_ERROR(progress.Report("pack", 0));
  TAILOR_ASSIGN_OR_RETURN(PackedConstants packed, PackConstants(lowered, threads));
  compiled.program.constants = std::move(packed.constants);
  compiled.storage = std::move(packed.storage);

  const auto emitting = [&](double done) { return progress.Report("emit", done); };
  TAILOR_ASSIGN_OR_RETURN(std::vector<CompiledVariant> variants, CompileVariants(lowered, targets, threads, emitting));
  for (CompiledVariant& variant : variants) {
    auto image = std::make_shared<const Image>(std::move(variant.image));
    variant.variant.image = image->bytes;
    compiled.program.variants.push_back(std::move(variant.variant));
    compiled.storage.push_back(std::move(image));
  }
  TAILOR_RETURN_IF_ERROR(progress.Report("done", 1));
  return compiled;
}

}  // namespace tailor
