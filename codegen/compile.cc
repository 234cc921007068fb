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

// What changes the bytes, where it is not the default.
std::string OptionsText(const std::vector<CpuTarget>& targets, const CodeBounds& bounds,
                        const std::vector<std::string>& donated) {
  const auto name = [](std::string* out, const CpuTarget& target) { out->append(target.name); };
  std::string text = absl::StrCat("targets=", absl::StrJoin(targets, ",", name));
  const CodeBounds usual;
  if (bounds.versions != usual.versions) absl::StrAppend(&text, " max_versions=", bounds.versions);
  if (bounds.bytes != usual.bytes) absl::StrAppend(&text, " max_code_bytes=", bounds.bytes);
  if (!donated.empty()) absl::StrAppend(&text, " donated=", absl::StrJoin(donated, ","));
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
  TAILOR_ASSIGN_OR_RETURN(const std::vector<bool> donated, Donated(graph, options.donated));
  TAILOR_ASSIGN_OR_RETURN(LoweredProgram lowered, LowerGraph(graph, targets.front().traits, donated));
  TAILOR_RETURN_IF_ERROR(DumpKernels(lowered));
  TAILOR_ASSIGN_OR_RETURN(targets, LevelsNeeded(targets, lowered));

  CompiledProgram compiled;
  compiled.program = DescribeProgram(graph, lowered, OptionsText(targets, options.bounds, options.donated));
  TAILOR_RETURN_IF_ERROR(progress.Report("pack", 0));
  TAILOR_ASSIGN_OR_RETURN(PackedConstants packed, PackConstants(lowered, threads));
  compiled.program.constants = std::move(packed.constants);
  compiled.storage = std::move(packed.storage);

  const auto emitting = [&](double done) { return progress.Report("emit", done); };
  TAILOR_ASSIGN_OR_RETURN(std::vector<CompiledVariant> variants,
                          CompileVariants(lowered, targets, options.bounds, threads, emitting));
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
