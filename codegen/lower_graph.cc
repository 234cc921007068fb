// The passes that take a graph to a host program, for the graph itself and for each of its regions.
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "analysis/shape_facts.h"
#include "codegen/attention/keep_joined_chains.h"
#include "codegen/build_host_program.h"
#include "codegen/lower_program.h"
#include "codegen/reuse_blocks.h"
#include "fusion/dump.h"
#include "fusion/graph_rebuild.h"
#include "fusion/hand_down_facts.h"
#include "fusion/joins.h"
#include "fusion/rewrites.h"
#include "fusion/split_at_data.h"
#include "graph/status_macros.h"
#include "graph/status_node.h"

namespace tailor {
namespace {

// A loop's body without the outputs that are its arguments as they came, and the numbers of the others.
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

// A region's checks speak of its arguments: tells whose they are. Those of a rest are extents that a value told.
void SayWhere(const Graph& graph, NodeId id, HostProgram& program) {
  const Node& node = graph.node(id);
  const bool rest = node.op == OpKind::kRest;
  std::vector<std::pair<std::string, std::string>> names;
  for (size_t i = 0; rest && i < node.i64s("counts").size(); ++i) {
    if (node.i64s("counts")[i] < 0) continue;
    const Graph& region = *node.regions[0].graph;
    const NodeId input = region.inputs()[node.operands.size() + i];
    names.emplace_back(absl::StrCat("input \"", region.node(input).name, "\" dim 0"),
                       graph.NameOf(node.operands[node.i64s("counts")[i]]));
  }
  for (int i = 0; i < program.shape_check_count; ++i) {
    ShapeCheck& check = program.checks[i];
    check.message = absl::StrReplaceAll(check.message, names);
    if (!rest) absl::StrAppend(&check.message, " (in ", InfoOf(node.op).text, " ", graph.NameOf({id, 0}), ")");
    if (!rest && check.node.empty()) check.node = node.name;
  }
}

class GraphLowering {
 public:
  explicit GraphLowering(const TargetTraits& traits) : traits_(traits) {}

  absl::StatusOr<LoweredProgram> Run(const Graph& graph, const LowerOptions& options) {
    tables_.offer_products = options.offer_products;
    tables_.on_device = traits_.warp_size > 1;
    tables_.pairs = !tables_.on_device;  // warps multiply panels as they are
    tables_.winograd = options.winograd && !tables_.on_device;
    tables_.join_chains = traits_.joined_extent > 0;
    at_pass_ = options.at_pass;
    TAILOR_RETURN_IF_ERROR(
        Lower(graph, {.outermost = true, .versions = options.versions, .donated = options.donated}).status());
    NumberChecksAndLaunches();
    return std::move(tables_.program);
  }

 private:
  // The number of the program.
  absl::StatusOr<int> Lower(const Graph& whole, ProgramRole role) {
    if (role.body && role.numbers.empty()) {
      TAILOR_ASSIGN_OR_RETURN(auto body, WithoutInvariants(whole));
      role.numbers = std::move(body.second);
      if (!role.numbers.empty()) return Lower(body.first, std::move(role));
    }
    const int number = static_cast<int>(tables_.program.programs.size());
    tables_.program.programs.emplace_back();
    TAILOR_RETURN_IF_ERROR(Tell("analyse", "split"));
    TAILOR_ASSIGN_OR_RETURN(const Graph graph, SplitAtData(whole));
    TAILOR_RETURN_IF_ERROR(Tell("analyse", "facts"));
    TAILOR_ASSIGN_OR_RETURN(const ShapeFacts facts, ShapeFacts::Collect(graph));
    if (number == 0) {
      for (const Fact& fact : facts.facts()) {
        tables_.program.facts.push_back(absl::StrCat(fact.text, " (", fact.source, ")"));
      }
    }
    if (role.versions) {
      TAILOR_ASSIGN_OR_RETURN(const auto version, VersionWithoutJoins(whole, graph, facts));
      if (version) return LowerVersions(number, whole, *version, facts, std::move(role));
    }
    TAILOR_ASSIGN_OR_RETURN(const Graph rewritten, Rewrite(graph, facts, at_pass_));
    TAILOR_ASSIGN_OR_RETURN(FusionPlan plan, Fuse(rewritten, facts, traits_, at_pass_));
    TAILOR_RETURN_IF_ERROR(Tell("lower", "kernels"));
    if (tables_.join_chains) TAILOR_RETURN_IF_ERROR(KeepJoinedChains(number, rewritten, facts, traits_, plan));
    const LowerRegion lower_region = [&](NodeId id, int region, const ProgramRole& inner) -> absl::StatusOr<int> {
      TAILOR_ASSIGN_OR_RETURN(const Graph inside, HandDownFacts(rewritten, facts, id, region));
      absl::StatusOr<int> lowered = Lower(inside, inner);
      const Node& node = rewritten.node(id);
      if (lowered.ok()) {
        for (int program : WithVersions(*lowered)) SayWhere(rewritten, id, tables_.program.programs[program]);
        return lowered;
      }
      if (node.op == OpKind::kRest) return lowered;
      return WithNode(
          absl::Status(lowered.status().code(), absl::StrCat(InfoOf(node.op).text, " ", rewritten.NameOf({id, 0}), ": ",
                                                             lowered.status().message())),
          node.name);
    };
    TAILOR_ASSIGN_OR_RETURN(HostProgram program, LowerProgram(rewritten, facts, plan, role, lower_region, tables_));
    // Threads that share a row would read what others of them have written over.
    if (traits_.warp_size == 1) ReuseBlocks(tables_.program.kernels, program);
    PlanWorkspace(facts, program);
    TAILOR_RETURN_IF_ERROR(Dump(number, whole, facts, program));
    tables_.program.programs[number] = std::move(program);
    return number;
  }

  // Program `number` becomes a choice of two, or, where there can be no joined version, a call of the general one.
  absl::StatusOr<int> LowerVersions(int number, const Graph& whole, const JoinedVersion& version,
                                    const ShapeFacts& facts, ProgramRole role) {
    HostProgram choice;
    for (const SymbolInfo& symbol : whole.symbols()) choice.symbols.push_back(symbol.name);
    choice.bindings.assign(facts.bindings().begin(), facts.bindings().end());
    ProgramRole of_general = role;
    of_general.versions = false;
    TAILOR_ASSIGN_OR_RETURN(const int general, Lower(whole, std::move(of_general)));
    TAILOR_ASSIGN_OR_RETURN(const Joined joined, LowerJoinedVersion(version, role, general));
    choice.versions.emplace();
    choice.versions->general = choice.versions->joined = general;
    if (joined.program >= 0) choice.versions->joined = joined.program, choice.versions->equal = version.equal;
    tables_.program.facts.push_back(absl::StrCat(JoinsText(whole, version), " (", joined.why, ")"));
    const HostProgram& described = tables_.program.programs[general];
    choice.outermost = described.outermost;
    choice.own_workspace = described.own_workspace;
    choice.output_dims = described.output_dims;
    choice.output_numbers = described.output_numbers;
    choice.output_sources = described.output_sources;
    choice.donated = described.donated;
    choice.memory_of = described.memory_of;
    tables_.program.programs[number] = std::move(choice);
    return number;
  }

  // The joined version, or -1, which leaves no trace in the tables; and what the facts say of it.
  struct Joined {
    int program = -1;
    const char* why;
  };
  absl::StatusOr<Joined> LowerJoinedVersion(const JoinedVersion& version, const ProgramRole& role, int general) {
    if (choices_ == kMostChoices) return Joined{-1, "one version: there are 4 choices before"};
    ++choices_;
    LoweringTables before = tables_;
    const absl::StatusOr<int> joined = Lower(version.graph, role);
    const auto dropped = [&](const char* why) {
      tables_ = std::move(before);
      return Joined{-1, why};
    };
    if (absl::IsInvalidArgument(joined.status())) return dropped("one version: a region contradicts it");
    if (!joined.ok()) return joined.status();
    const std::vector<HostProgram>& programs = tables_.program.programs;
    if (programs[*joined].memory_of != programs[general].memory_of) {
      return dropped("one version: outputs would be in the memory of other donated inputs");
    }
    return Joined{*joined, "in one of 2 versions"};
  }

  // The program, or its versions.
  std::vector<int> WithVersions(int number) const {
    const auto& versions = tables_.program.programs[number].versions;
    if (!versions) return {number};
    if (versions->joined == versions->general) return {versions->general};
    return {versions->joined, versions->general};
  }

  static absl::Status Dump(int number, const Graph& graph, const ShapeFacts& facts, const HostProgram& program) {
    if (!DumpWanted()) return absl::OkStatus();
    TAILOR_RETURN_IF_ERROR(DumpPass("graph", number, "input", graph.ToText()));
    TAILOR_RETURN_IF_ERROR(DumpPass("facts", number, "collected", facts.ToText()));
    return DumpPass("host", number, "lowered", program.Text());
  }

  void NumberChecksAndLaunches() {
    int checks = 0, launches = 0;
    for (HostProgram& program : tables_.program.programs) {
      program.first_check = std::exchange(checks, checks + static_cast<int>(program.checks.size()));
      program.first_launch = std::exchange(launches, launches + static_cast<int>(program.launches.size()));
    }
  }

  absl::Status Tell(const char* phase, const char* pass) const {
    return at_pass_ ? at_pass_(phase, pass) : absl::OkStatus();
  }

  // A general version holds all that waits for data behind it, so what is lowered is linear in these.
  static constexpr int kMostChoices = 4;

  const TargetTraits& traits_;
  AtPass at_pass_;
  int choices_ = 0;  // programs of two versions
  LoweringTables tables_;
};

}  // namespace

absl::StatusOr<LoweredProgram> LowerGraph(const Graph& graph, const TargetTraits& traits, const LowerOptions& options) {
  return GraphLowering(traits).Run(graph, options);
}

}  // namespace tailor
