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
    if (role.versions && choices_ < kMostChoices) {
      TAILOR_ASSIGN_OR_RETURN(const auto version, VersionWithoutJoins(whole, graph, facts));
      if (version) {
        if (number == 0)
          tables_.program.facts.push_back(absl::StrCat(JoinsText(graph, *version), " (in one of 2 versions)"));
        TAILOR_RETURN_IF_ERROR(LowerVersions(number, whole, *version, facts, std::move(role)));
        return number;
      }
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

  // Program `number` becomes a choice of two. Outputs that are in the memory of inputs are so in both, or there is one.
  absl::Status LowerVersions(int number, const Graph& whole, const JoinedVersion& version, const ShapeFacts& facts,
                             ProgramRole role) {
    ++choices_;
    HostProgram choice;
    for (const SymbolInfo& symbol : whole.symbols()) choice.symbols.push_back(symbol.name);
    choice.bindings.assign(facts.bindings().begin(), facts.bindings().end());
    choice.versions.emplace();
    choice.versions->equal = version.equal;
    const size_t programs = tables_.program.programs.size();
    const absl::StatusOr<int> lowered = Lower(version.graph, role);
    if (!lowered.ok()) {
      // What a region asks for contradicts the joins: there, they are never equal.
      if (!absl::IsInvalidArgument(lowered.status())) return lowered.status();
      tables_.program.programs.resize(programs);
    }
    role.versions = false;
    TAILOR_ASSIGN_OR_RETURN(choice.versions->general, Lower(whole, std::move(role)));
    choice.versions->joined = lowered.value_or(choice.versions->general);
    const HostProgram& joined = tables_.program.programs[choice.versions->joined];
    const HostProgram& general = tables_.program.programs[choice.versions->general];
    if (!lowered.ok() || joined.memory_of != general.memory_of) {
      choice.versions->equal.clear();
      choice.versions->joined = choice.versions->general;
    }
    choice.outermost = general.outermost;
    choice.own_workspace = general.own_workspace;
    choice.output_dims = general.output_dims;
    choice.output_numbers = general.output_numbers;
    choice.output_sources = general.output_sources;
    choice.donated = general.donated;
    choice.memory_of = general.memory_of;
    tables_.program.programs[number] = std::move(choice);
    return absl::OkStatus();
  }

  // The program, or its versions.
  std::vector<int> WithVersions(int number) const {
    const auto& versions = tables_.program.programs[number].versions;
    return versions ? std::vector<int>{versions->joined, versions->general} : std::vector<int>{number};
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
