#include "codegen/driver/pipeline.h"

#include <algorithm>
#include <numeric>
#include <string>
#include <thread>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "codegen/backend/memory_estimate.h"
#include "codegen/driver/denormals.h"
#include "codegen/driver/describe_program.h"
#include "codegen/driver/fold_constants.h"
#include "codegen/driver/pack_constants.h"
#include "codegen/driver/share_tables.h"
#include "codegen/jobs/job_pool.h"
#include "codegen/link/target_machine.h"
#include "codegen/lower/lower_graph.h"
#include "graph/dump.h"
#include "graph/status_macros.h"

namespace tailor::driver {
namespace {

// Per input: whether it is donated.
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

absl::Status DumpKernels(const lower::LoweredProgram& lowered, size_t number) {
  if (!DumpWanted()) return absl::OkStatus();
  std::string kernels;
  for (const KernelPlan& plan : lowered.kernels) absl::StrAppend(&kernels, plan.name, "\n", plan.Text(), "\n");
  return DumpPass("kernels", static_cast<int>(number), "lowered", kernels);
}

// The non-default options that change the artifact's bytes.
std::string OptionsText(const std::vector<std::string>& targets, const CompileOptions& options) {
  std::string text = absl::StrCat("targets=", absl::StrJoin(targets, ","));
  const backend::CodeBounds usual, &bounds = options.bounds;
  if (bounds.versions != usual.versions) absl::StrAppend(&text, " max_versions=", bounds.versions);
  if (bounds.bytes != usual.bytes) absl::StrAppend(&text, " max_code_bytes=", bounds.bytes);
  if (!options.donated.empty()) absl::StrAppend(&text, " donated=", absl::StrJoin(options.donated, ","));
  if (options.offer_products) absl::StrAppend(&text, " offer_products");
  if (options.allow_tf32) absl::StrAppend(&text, " allow_tf32");
  if (!options.optimize) absl::StrAppend(&text, " optimize=0");
  if (!options.without.empty()) absl::StrAppend(&text, " without=", absl::StrJoin(options.without, ","));
  if (options.direct_convolutions) absl::StrAppend(&text, " direct_convolutions");
  if (options.cost_profile != nullptr) absl::StrAppend(&text, " cost_profile");
  if (options.denormals == Denormals::kKeep) absl::StrAppend(&text, " denormals=keep");
  if (options.denormals == Denormals::kFlush) absl::StrAppend(&text, " denormals=flush");
  return text;
}

// Outputs that alias an input according to `program`, but that `lowered` writes to separate memory.
std::vector<int32_t> OutputsToCopy(const Program& program, const lower::LoweredProgram& lowered) {
  const std::vector<int>& memory_of = lowered.programs[0].memory_of;
  std::vector<int32_t> apart;
  for (size_t i = 0; i < program.outputs.size(); ++i) {
    const int there = i < memory_of.size() ? memory_of[i] : -1;
    if (program.outputs[i].memory_of != there) apart.push_back(static_cast<int32_t>(i));
  }
  return apart;
}

// Adds the variant to `compiled`, which then owns its memory. Reports the assembler once.
void Add(backend::CompiledVariant variant, CompiledProgram& compiled) {
  auto parts = std::make_shared<const backend::CompiledVariant>(std::move(variant));
  Variant added = parts->variant;
  added.image = parts->image.bytes;
  for (const backend::OwnedDeviceImage& image : parts->device_images) {
    added.device_images.push_back({image.target, image.kind, image.bytes});
  }
  compiled.program.variants.push_back(std::move(added));
  std::string& said = compiled.program.provenance.options;
  const std::string assembler = absl::StrCat(" assembler=", parts->assembler);
  if (!parts->assembler.empty() && !absl::StrContains(said, assembler)) said += assembler;
  compiled.variants.push_back(std::move(parts));
}

}  // namespace

// The steps in order; each step handles all backends.
const std::vector<Pipeline::Step>& Pipeline::Steps() {
  static const std::vector<Step> kSteps = {
      &Pipeline::FoldConstants,  // costly constant subgraphs are computed
      &Pipeline::Lower,          // rewrites, fusion, kernel plans and host programs, per backend; plans verified
      &Pipeline::ShareTables,    // one table of constants and checks for all backends
      &Pipeline::KeepTargets,    // drops targets without benefit
      &Pipeline::FitMemory,      // limits threads to memory_limit
      &Pipeline::Pack,           // constants in the layouts of kernels
      &Pipeline::Schedule,       // the versions of each kernel, per target
      &Pipeline::EmitAndLink,    // schedules verified; modules emitted, compiled, linked; repeated on demand of Link
      &Pipeline::Describe,       // the program's metadata
  };
  return kSteps;
}

Pipeline::Pipeline(const Graph& graph, const CompileOptions& options,
                   std::vector<std::unique_ptr<backend::Backend>> backends)
    : graph_(graph),
      options_(options),
      backends_(std::move(backends)),
      threads_(options.threads > 0 ? options.threads
                                   : static_cast<int>(std::max(1u, std::thread::hardware_concurrency()))) {}

absl::StatusOr<CompiledProgram> Pipeline::Run() {
  for (const Step step : Steps()) TAILOR_RETURN_IF_ERROR((this->*step)());
  TAILOR_RETURN_IF_ERROR(Report("done", 1));
  return std::move(compiled_);
}

absl::Status Pipeline::Report(const char* phase, double done) const {
  if (!options_.progress || options_.progress(phase, done)) return absl::OkStatus();
  return absl::CancelledError(absl::StrCat("compilation was cancelled during ", phase));
}

// Always by code of the oldest level: values and artifact must not depend on the machine that compiles.
absl::Status Pipeline::FoldConstants() {
  if (!options_.run_constants) return absl::OkStatus();
  constexpr double kCompilation = 0.25;  // share of the work
  double compiled = 0;
  absl::Status cancelled;
  const auto report = [&] { return cancelled = Report("fold-constants", kCompilation * compiled); };
  const auto evaluate = [&](const Graph& constants) -> absl::StatusOr<std::vector<ConstantData>> {
    CompileOptions options{.targets = {CpuLevels().front().name},
                           .threads = threads_,
                           .optimize = false,
                           .memory_limit = options_.memory_limit};
    options.progress = [&](const char* phase, double done) {
      if (absl::string_view(phase) == "emit") compiled = done;
      return report().ok();
    };
    const absl::StatusOr<CompiledProgram> program = Compile(constants, options);
    TAILOR_RETURN_IF_ERROR(cancelled);
    if (!program.ok()) return program.status();
    return options_.run_constants(*program, threads_, report);
  };
  TAILOR_ASSIGN_OR_RETURN(graph_, driver::FoldConstants(graph_, evaluate));
  return absl::OkStatus();
}

absl::Status Pipeline::Lower() {
  TAILOR_ASSIGN_OR_RETURN(const std::vector<bool> donated, Donated(graph_, options_.donated));
  const lower::LowerOptions options{.donated = donated,
                                    .versions = options_.bounds.versions > 1,
                                    .offer_products = options_.offer_products,
                                    // All backends share the weights, and only CPUs have Winograd.
                                    .winograd = !options_.direct_convolutions && backends_.size() == 1,
                                    .images_channels_last = backends_.size() == 1,
                                    .at_pass = [&](const char* phase, const char* pass) -> absl::StatusOr<bool> {
                                      TAILOR_RETURN_IF_ERROR(Report(absl::StrCat(phase, " ", pass).c_str(), 0));
                                      const auto& without = options_.without;
                                      return std::find(without.begin(), without.end(), pass) == without.end();
                                    }};
  for (const auto& backend : backends_) {
    TAILOR_ASSIGN_OR_RETURN(lower::LoweredProgram lowered, lower::LowerGraph(graph_, backend->Traits(), options));
    TAILOR_RETURN_IF_ERROR(DumpKernels(lowered, lowered_.size()));
    lowered_.push_back(std::move(lowered));
  }
  return absl::OkStatus();
}

absl::Status Pipeline::ShareTables() {
  for (size_t b = 1; b < lowered_.size(); ++b) {
    TAILOR_RETURN_IF_ERROR(driver::ShareTables(lowered_[0], lowered_[b]));
  }
  return absl::OkStatus();
}

absl::Status Pipeline::KeepTargets() {
  for (size_t b = 0; b < backends_.size(); ++b) TAILOR_RETURN_IF_ERROR(backends_[b]->KeepTargetsFor(lowered_[b]));
  return absl::OkStatus();
}

absl::Status Pipeline::FitMemory() {
  if (options_.memory_limit == 0) return absl::OkStatus();
  std::vector<backend::MemoryEstimate> estimates;
  for (size_t b = 0; b < backends_.size(); ++b) estimates.push_back(backends_[b]->Estimate(lowered_[b]));
  TAILOR_ASSIGN_OR_RETURN(threads_, backend::ThreadsWithin(options_.memory_limit, estimates, threads_));
  return absl::OkStatus();
}

absl::Status Pipeline::Pack() {
  const auto report = [&](double done) { return Report("pack", done); };
  TAILOR_RETURN_IF_ERROR(report(0));
  TAILOR_ASSIGN_OR_RETURN(PackedConstants packed, PackConstants(lowered_[0], threads_, report));
  compiled_.program.constants = std::move(packed.constants);
  compiled_.constants = std::move(packed.storage);
  return absl::OkStatus();
}

absl::Status Pipeline::Schedule() {
  for (size_t b = 0; b < backends_.size(); ++b) {
    builds_.push_back(backends_[b]->Start(lowered_[b]));
    for (const auto& build : builds_.back()) TAILOR_RETURN_IF_ERROR(build->Schedule(options_.bounds));
  }
  return absl::OkStatus();
}

absl::Status Pipeline::EmitAndLink() {
  for (size_t b = 0; b < backends_.size(); ++b) {
    TAILOR_RETURN_IF_ERROR(EmitAndLink(b));
    backends_[b]->Finish(variants_[b]);
  }
  return absl::OkStatus();
}

absl::Status Pipeline::DumpSchedules(size_t backend, const std::vector<size_t>& builds) const {
  if (!DumpWanted()) return absl::OkStatus();
  const std::vector<std::string> targets = backends_[backend]->Targets();
  for (size_t i : builds) {
    TAILOR_RETURN_IF_ERROR(DumpPass(targets[i], 0, "schedules", builds_[backend][i]->SchedulesText()));
  }
  return absl::OkStatus();
}

absl::Status Pipeline::EmitAndLink(size_t backend) {
  std::vector<std::unique_ptr<backend::TargetBuild>>& builds = builds_[backend];
  std::vector<backend::CompiledVariant>& variants = variants_.emplace_back(builds.size());
  std::vector<size_t> unfinished(builds.size());
  std::iota(unfinished.begin(), unfinished.end(), 0);
  std::vector<std::vector<int>> modules(builds.size());  // modules to emit
  for (size_t i = 0; i < builds.size(); ++i) {
    modules[i].resize(builds[i]->modules());
    std::iota(modules[i].begin(), modules[i].end(), 0);
  }
  double most = 0;  // progress never goes back
  const double share = 1.0 / static_cast<double>(backends_.size());
  const auto report = [&](double done) {
    most = std::max(most, done);
    return Report("emit", share * (static_cast<double>(backend) + most));
  };
  while (!unfinished.empty()) {
    TAILOR_RETURN_IF_ERROR(DumpSchedules(backend, unfinished));
    std::vector<std::pair<size_t, int>> jobs;  // build, module
    for (const bool last : {true, false}) {    // a host program, the last module, takes longest
      for (size_t i : unfinished) {
        for (int module : modules[i]) {
          if ((module == modules[i].back()) == last) jobs.emplace_back(i, module);
        }
      }
    }
    constexpr double kEmission = 0.75;  // share of the work
    TAILOR_RETURN_IF_ERROR(RunJobs(
        threads_, static_cast<int>(jobs.size()),
        [&](int job) { return builds[jobs[job].first]->Emit(jobs[job].second); },
        [&](double done) { return report(kEmission * done); }));
    const auto link = [&](int job) -> absl::Status {
      const size_t i = unfinished[job];
      TAILOR_ASSIGN_OR_RETURN(modules[i], builds[i]->Link(&variants[i]));
      return absl::OkStatus();
    };
    TAILOR_RETURN_IF_ERROR(RunJobs(threads_, static_cast<int>(unfinished.size()), link,
                                   [&](double done) { return report(kEmission + (1 - kEmission) * done); }));
    std::erase_if(unfinished, [&](size_t i) { return modules[i].empty(); });
  }
  return absl::OkStatus();
}

absl::Status Pipeline::Describe() {
  std::vector<std::string> targets;
  for (const auto& backend : backends_) {
    for (std::string& target : backend->Targets()) targets.push_back(std::move(target));
  }
  std::vector<const lower::LoweredProgram*> lowered;
  for (const lower::LoweredProgram& one : lowered_) lowered.push_back(&one);
  std::vector<ProgramConstant> constants = std::move(compiled_.program.constants);
  compiled_.program = DescribeProgram(graph_, lowered, OptionsText(targets, options_));
  compiled_.program.constants = std::move(constants);
  if (std::string reason = ReasonToFlush(options_.denormals, lowered_[0].constants); !reason.empty()) {
    compiled_.program.flush_denormals = true;
    compiled_.program.facts.push_back(std::move(reason));
  }
  for (size_t b = 0; b < backends_.size(); ++b) {
    for (backend::CompiledVariant& variant : variants_[b]) {
      variant.variant.outputs_to_copy = OutputsToCopy(compiled_.program, lowered_[b]);
      Add(std::move(variant), compiled_);
    }
  }
  return absl::OkStatus();
}

}  // namespace tailor::driver
