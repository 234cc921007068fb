#include "tests/fuzz/graph_statistics.h"

#include <map>
#include <set>
#include <vector>

#include "absl/strings/str_format.h"

namespace tailor {
namespace {

double Share(int64_t part, int64_t whole) {
  return whole == 0 ? 0 : 100 * static_cast<double>(part) / static_cast<double>(whole);
}

double Ratio(int64_t a, int64_t b) { return b == 0 ? 0 : static_cast<double>(a) / static_cast<double>(b); }

// What outputs need.
std::vector<bool> LiveNodes(const Graph& graph) {
  std::vector<bool> live(graph.nodes().size(), false);
  for (const Output& output : graph.outputs()) live[output.value.node] = true;
  for (size_t id = live.size(); id-- > 0;) {
    if (!live[id]) continue;
    for (Value v : graph.nodes()[id].operands) live[v.node] = true;
  }
  return live;
}

void AddNodes(const Graph& graph, GraphStatistics& sums) {
  const std::vector<bool> live = LiveNodes(graph);
  std::map<Value, int64_t> readers;
  std::map<Value, int> matmuls_of;
  const auto is_constant = [&](Value v) { return graph.node(v.node).op == OpKind::kConstant; };
  const auto by_constant = [&](const Node& node) { return node.op == OpKind::kDot && is_constant(node.operands[1]); };
  for (size_t id = 0; id < live.size(); ++id) {
    const Node& node = graph.nodes()[id];
    if (!live[id]) continue;
    for (const Region& region : node.regions) AddNodes(*region.graph, sums);
    if (InfoOf(node.op).fusion == FusionClass::kStructural) continue;
    ++sums.nodes;
    bool seen = false;
    for (Value v : std::set<Value>(node.operands.begin(), node.operands.end())) {
      if (++readers[v] > 1 && !is_constant(v)) seen = true;
    }
    sums.seen_before += seen;
    if (by_constant(node)) ++sums.matmuls, ++matmuls_of[node.operands[0]];
  }
  for (const auto& [value, count] : readers) {
    const bool counted = !is_constant(value) || graph.type(value).rank() > 0;
    if (!counted) continue;
    ++(is_constant(value) ? sums.constants : sums.values);
    if (!is_constant(value)) sums.uses += count;
    if (count > 1) ++(is_constant(value) ? sums.shared_constants : sums.shared_values);
  }
  for (size_t id = 0; id < live.size(); ++id) {
    const Node& node = graph.nodes()[id];
    if (!live[id]) continue;
    std::set<Value> computed;
    for (Value v : node.operands) {
      if (!is_constant(v)) computed.insert(v);
    }
    sums.links += computed.size() == 1 && readers[*computed.begin()] == 1;
    sums.sharing_matmuls += by_constant(node) && matmuls_of[node.operands[0]] > 1;
  }
}

}  // namespace

void GraphStatistics::Add(const Graph& graph) {
  ++graphs;
  outputs += static_cast<int64_t>(graph.outputs().size());
  AddNodes(graph, *this);
}

std::string GraphStatistics::Header() {
  return "graphs                   nodes/graph  uses/value  shared values %  operand seen before %  links of chains %  "
         "outputs/graph  shared constants %  matmuls sharing a left operand %\n";
}

std::string GraphStatistics::Row(const std::string& name) const {
  return absl::StrFormat("%-24s %11.1f %11.2f %16.1f %22.1f %18.1f %14.1f %19.1f %33.1f\n", name, Ratio(nodes, graphs),
                         Ratio(uses, values), Share(shared_values, values), Share(seen_before, nodes),
                         Share(links, nodes), Ratio(outputs, graphs), Share(shared_constants, constants),
                         Share(sharing_matmuls, matmuls));
}

}  // namespace tailor
