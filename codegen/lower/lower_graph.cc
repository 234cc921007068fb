// Lowers a graph and each of its regions to host programs.
#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "analysis/shape_facts.h"
#include "codegen/jobs/job_pool.h"
#include "codegen/lower/keep_joined_chains.h"
#include "codegen/lower/lower_graph.h"
#include "codegen/lower/lower_program.h"
#include "codegen/lower/lowered_program.h"
#include "codegen/lower/alias_buffers.h"
#include "codegen/lower/share_kernels.h"
#include "codegen/plan/verify_kernel_plan.h"
#include "fusion/channels_last.h"
#include "fusion/graph_rebuild.h"
#include "fusion/propagate_facts.h"
#include "fusion/joins.h"
#include "fusion/rewrites.h"
#include "fusion/split_at_data_dependent_dims.h"
#include "graph/dump.h"
#include "graph/status_macros.h"
#include "graph/status_node.h"
#include "graph/visits.h"

namespace tailor::lower {
namespace {

// A loop's body without its loop-invariant outputs, and the numbers of the other outputs.
absl::StatusOr<std::pair<Graph, std::vector<int>>> WithoutInvariants(const Graph& body) {
  std::vector<int> numbers;
  const auto add_outputs = [&](Graph& to, absl::Span<const Output> outputs) -> absl::Status {
    for (size_t i = 0; i < outputs.size(); ++i) {
      if (outputs[i].value == Value{to.inputs()[i], 0}) continue;
      TAILOR_RETURN_IF_ERROR(to.AddOutput(outputs[i].name, outputs[i].value));
      numbers.push_back(static_cast<int>(i));
    }
    return absl::OkStatus();
  };
  TAILOR_ASSIGN_OR_RETURN(Graph rest, RebuildGraph(body, {.add_outputs = add_outputs}));
  return std::pair(std::move(rest), std::move(numbers));
}

using Names = std::vector<std::pair<std::string, std::string>>;

// Names for the checks of `next`: its data-dependent symbols, and for each the previous stage's name of the value.
Names NamesOfDataSymbols(const Graph& graph, const Node& rest, const Graph& next) {
  Names names;
  for (size_t i = 0; i < rest.i64s("counts").size(); ++i) {
    if (rest.i64s("counts")[i] < 0) continue;
    const NodeId input = next.inputs()[rest.operands.size() + i];
    names.emplace_back(absl::StrCat("input \"", next.node(input).name, "\" dim 0"),
                       graph.NameOf(rest.operands[rest.i64s("counts")[i]]));
  }
  return names;
}

// Adds the node to the messages of a region's checks, which refer to the region's arguments.
void AddNodeToMessages(const Graph& graph, NodeId id, host::HostProgram& program) {
  const Node& node = graph.node(id);
  for (int i = 0; i < program.shape_check_count; ++i) {
    ShapeCheck& check = program.checks[i];
    absl::StrAppend(&check.message, " (in ", InfoOf(node.op).text, " ", graph.NameOf({id, 0}), ")");
    if (check.node.empty()) check.node = node.name;
  }
}

class GraphLowering {
 public:
  explicit GraphLowering(const TargetTraits& traits) : traits_(traits) {}

  absl::StatusOr<LoweredProgram> Run(const Graph& graph, const LowerOptions& options) {
    tables_.offer_products = options.offer_products;
    tables_.groups = {.device_panels = traits_.device_panels,
                      .winograd = options.winograd && traits_.winograd,
                      .stage_strided_lhs = traits_.stage_strided_lhs,
                      .packed_rhs = traits_.packed_rhs,
                      .most_rows_in_place = traits_.most_rows_in_place,
                      .merge_rows = traits_.merge_rows};
    tables_.rows_in_place = traits_.rows_in_place;
    tables_.external_f16_gemm = traits_.external_f16_gemm;
    tables_.join_chains = traits_.max_attention_row > 0;
    at_pass_ = [&](const char* phase, const char* pass) -> absl::StatusOr<bool> {
      EndPass();
      pass_ = absl::StrCat(phase, " ", pass);
      const bool is_of_images = absl::string_view(pass) == kKeepImagesChannelsLast;
      if (is_of_images && !(options.images_channels_last && traits_.images_channels_last)) return false;
      return options.at_pass ? options.at_pass(phase, pass) : true;
    };
    TAILOR_RETURN_IF_ERROR(
        Lower(graph, {.outermost = true, .versions = options.versions, .donated = options.donated}).status());
    NumberChecksAndLaunches();
    if (traits_.share_kernels) {
      TAILOR_RETURN_IF_ERROR(at_pass_("lower", "share-kernels").status());
      TAILOR_RETURN_IF_ERROR(RunJob([&] {  // printing long expressions recurses deeply
        ShareKernels(tables_.program);
        return absl::OkStatus();
      }));
    }
    TAILOR_RETURN_IF_ERROR(at_pass_("lower", "verify-kernels").status());
    for (const KernelPlan& plan : tables_.program.kernels) TAILOR_RETURN_IF_ERROR(VerifyKernelPlan(plan));
    EndPass();
    tables_.program.visits = std::move(visits_);
    return std::move(tables_.program);
  }

 private:
  // A stage to be lowered (fusion/split_at_data_dependent_dims.h).
  struct Stage {
    int number;                                        // program number
    std::shared_ptr<const std::vector<Graph>> stages;  // all of the graph
    size_t index;                                      // in `stages`
    Graph graph;                                       // the stage, with the facts of earlier stages
    ProgramRole role;
    Names informed;
  };

  int NewProgram() {
    tables_.program.programs.emplace_back();
    return static_cast<int>(tables_.program.programs.size()) - 1;
  }

  // Lowers `whole` and returns its program number. Recursion depth: nesting depth of regions.
  absl::StatusOr<int> Lower(const Graph& whole, ProgramRole role) {
    if (role.body && role.numbers.empty()) {
      TAILOR_ASSIGN_OR_RETURN(auto body, WithoutInvariants(whole));
      role.numbers = std::move(body.second);
      if (!role.numbers.empty()) return Lower(body.first, std::move(role));
    }
    const int number = NewProgram();
    TAILOR_RETURN_IF_ERROR(at_pass_("analyse", "split").status());
    TAILOR_ASSIGN_OR_RETURN(std::vector<Graph> split, SplitAtDataDependentDims(whole));
    const auto stages = std::make_shared<const std::vector<Graph>>(std::move(split));
    TAILOR_RETURN_IF_ERROR(LowerStages({number, stages, 0, stages->front(), std::move(role), {}}));
    return number;
  }

  // Lowers the stage and all later stages.
  absl::Status LowerStages(Stage first) {
    std::optional<Stage> stage = std::move(first);
    while (stage) {
      std::optional<Stage> next;
      TAILOR_RETURN_IF_ERROR(LowerStage(*stage, next));
      for (int number : WithVersions(stage->number)) {
        host::HostProgram& program = tables_.program.programs[number];
        for (int i = 0; i < program.shape_check_count; ++i) {
          program.checks[i].message = absl::StrReplaceAll(program.checks[i].message, stage->informed);
        }
      }
      stage = std::move(next);
    }
    return absl::OkStatus();
  }

  // Lowers one stage; sets `next` to the stage that remains to be lowered.
  absl::Status LowerStage(Stage& stage, std::optional<Stage>& next) {
    TAILOR_RETURN_IF_ERROR(at_pass_("analyse", "facts").status());
    TAILOR_ASSIGN_OR_RETURN(const ShapeFacts facts, ShapeFacts::Collect(stage.graph));
    if (stage.number == 0) {
      for (const Fact& fact : facts.facts()) {
        tables_.program.facts.push_back(absl::StrCat(fact.text, " (", fact.source, ")"));
      }
    }
    if (stage.role.versions) {
      TAILOR_ASSIGN_OR_RETURN(const auto version, VersionWithoutJoins(stage.graph, facts));
      if (version && choices_ < kMostChoices) return LowerVersions(stage, *version, facts);
      if (version) AddVersionFacts(stage.graph, *version, "one version: there are 4 choices before");
      stage.role.versions = !version;
    }
    TAILOR_ASSIGN_OR_RETURN(const Graph rewritten, Rewrite(stage.graph, facts, at_pass_));
    TAILOR_ASSIGN_OR_RETURN(FusionPlan plan, Fuse(rewritten, facts, traits_, at_pass_));
    TAILOR_RETURN_IF_ERROR(at_pass_("lower", "kernels").status());
    if (tables_.join_chains) TAILOR_RETURN_IF_ERROR(KeepJoinedChains(stage.number, rewritten, facts, traits_, plan));
    const bool last = stage.index + 1 == stage.stages->size();
    const Graph* behind = last ? nullptr : &(*stage.stages)[stage.index + 1];
    const LowerRegion lower_region = [&](NodeId id, int region, const ProgramRole& inner) -> absl::StatusOr<int> {
      const Node& node = rewritten.node(id);
      if (node.op == OpKind::kContinuation) {
        TAILOR_ASSIGN_OR_RETURN(Graph informed, PropagateFacts(rewritten, facts, id, *behind));
        Names names = NamesOfDataSymbols(rewritten, node, *behind);
        next = {NewProgram(), stage.stages, stage.index + 1, std::move(informed), inner, std::move(names)};
        return next->number;
      }
      TAILOR_ASSIGN_OR_RETURN(Graph inside, PropagateFacts(rewritten, facts, id, region));
      if (!inner.counted.numbers.empty()) {
        TAILOR_ASSIGN_OR_RETURN(inside, CountedBody(inside, inner.counted));
      }
      absl::StatusOr<int> lowered = Lower(inside, inner);
      TAILOR_RETURN_IF_ERROR(at_pass_("lower", "kernels").status());
      if (lowered.ok()) {
        for (int program : WithVersions(*lowered)) AddNodeToMessages(rewritten, id, tables_.program.programs[program]);
        return lowered;
      }
      return WithNode(
          absl::Status(lowered.status().code(), absl::StrCat(InfoOf(node.op).text, " ", rewritten.NameOf({id, 0}), ": ",
                                                             lowered.status().message())),
          node.name);
    };
    TAILOR_ASSIGN_OR_RETURN(host::HostProgram program,
                            LowerProgram(rewritten, facts, plan, stage.role, behind, lower_region, tables_));
    TAILOR_RETURN_IF_ERROR(at_pass_("lower", "memory").status());
    if (tables_.rows_in_place) AliasBuffers(tables_.program.kernels, program);
    host::PlanWorkspace(facts, program);
    TAILOR_RETURN_IF_ERROR(Dump(stage.number, stage.graph, facts, program));
    tables_.program.programs[stage.number] = std::move(program);
    return absl::OkStatus();
  }

  void AddVersionFacts(const Graph& graph, const JoinedVersion& version, const char* how) {
    tables_.program.facts.push_back(absl::StrCat(JoinsText(graph, version), " (", how, ")"));
  }

  // Makes the stage's program a choice between two programs, each with all later stages. If the joined version is
  // impossible, it calls the general one.
  absl::Status LowerVersions(const Stage& stage, const JoinedVersion& version, const ShapeFacts& facts) {
    ++choices_;
    host::HostProgram choice;
    for (const SymbolInfo& symbol : stage.graph.symbols()) choice.symbols.push_back(symbol.name);
    choice.bindings.assign(facts.bindings().begin(), facts.bindings().end());
    const int general = NewProgram();
    Stage of_general = stage;
    of_general.number = general;
    of_general.role.versions = false;
    TAILOR_RETURN_IF_ERROR(LowerStages(std::move(of_general)));
    TAILOR_ASSIGN_OR_RETURN(const Joined joined, LowerJoinedVersion(stage, version, general));
    choice.versions.emplace();
    choice.versions->general = choice.versions->joined = general;
    if (joined.program >= 0) choice.versions->joined = joined.program, choice.versions->equal = version.equal;
    AddVersionFacts(stage.graph, version, joined.why);
    const host::HostProgram& described = tables_.program.programs[general];
    choice.outermost = described.outermost;
    choice.own_workspace = described.own_workspace;
    choice.output_dims = described.output_dims;
    choice.output_numbers = described.output_numbers;
    choice.output_sources = described.output_sources;
    choice.donated = described.donated;
    choice.memory_of = described.memory_of;
    tables_.program.programs[stage.number] = std::move(choice);
    return absl::OkStatus();
  }

  // The program of the joined version, or -1 (then nothing is left in the tables), and the text for the facts.
  struct Joined {
    int program = -1;
    const char* why;
  };
  absl::StatusOr<Joined> LowerJoinedVersion(const Stage& stage, const JoinedVersion& version, int general) {
    LoweringTables before = tables_;
    const int joined = NewProgram();
    Stage of_joined = stage;
    of_joined.number = joined;
    of_joined.graph = version.graph;
    const absl::Status lowered = LowerStages(std::move(of_joined));
    const auto dropped = [&](const char* why) {
      tables_ = std::move(before);
      return Joined{-1, why};
    };
    if (absl::IsInvalidArgument(lowered)) return dropped("one version: a region contradicts it");
    if (!lowered.ok()) return lowered;
    const std::vector<host::HostProgram>& programs = tables_.program.programs;
    if (programs[joined].memory_of != programs[general].memory_of) {
      return dropped("one version: outputs would be in the memory of other donated inputs");
    }
    return Joined{joined, "in one of 2 versions"};
  }

  // The program numbers of the versions of program `number`, or the program itself.
  std::vector<int> WithVersions(int number) const {
    const auto& versions = tables_.program.programs[number].versions;
    if (!versions) return {number};
    if (versions->joined == versions->general) return {versions->general};
    return {versions->joined, versions->general};
  }

  static absl::Status Dump(int number, const Graph& graph, const ShapeFacts& facts, const host::HostProgram& program) {
    if (!DumpWanted()) return absl::OkStatus();
    TAILOR_RETURN_IF_ERROR(DumpPass("graph", number, "input", graph.ToText()));
    TAILOR_RETURN_IF_ERROR(DumpPass("facts", number, "collected", facts.ToText()));
    return DumpPass("host", number, "lowered", program.Text());
  }

  void NumberChecksAndLaunches() {
    int checks = 0, launches = 0;
    for (host::HostProgram& program : tables_.program.programs) {
      program.first_check = std::exchange(checks, checks + static_cast<int>(program.checks.size()));
      program.first_launch = std::exchange(launches, launches + static_cast<int>(program.launches.size()));
    }
  }

  // Attributes the visits since its start to the current pass.
  void EndPass() {
    const uint64_t visits = Visits() - std::exchange(visits_before_, Visits());
    if (pass_.empty()) return;
    auto entry = std::find_if(visits_.begin(), visits_.end(), [&](const PassVisits& v) { return v.pass == pass_; });
    if (entry == visits_.end()) entry = visits_.insert(entry, {pass_, 0});
    entry->visits += visits;
  }

  // Limit: each choice lowers all later stages twice, the general version without further choices.
  static constexpr int kMostChoices = 4;

  const TargetTraits& traits_;
  AtPass at_pass_;
  std::string pass_;  // the running pass
  uint64_t visits_before_ = 0;
  std::vector<PassVisits> visits_;
  int choices_ = 0;  // number of programs with two versions
  LoweringTables tables_;
};

}  // namespace

absl::StatusOr<LoweredProgram> LowerGraph(const Graph& graph, const TargetTraits& traits, const LowerOptions& options) {
  return GraphLowering(traits).Run(graph, options);
}

}  // namespace tailor::lower
