#include "fusion/separate_outputs.h"

#include <set>

#include "fusion/graph_rebuild.h"
#include "fusion/node_class.h"
#include "graph/status_macros.h"

namespace tailor {
namespace {

bool NeedsCopy(const Graph& graph, Value value, std::set<Value>* written) {
  const Node& node = graph.node(value.node);
  const bool written_by_call = IsControl(node) && node.op != OpKind::kCustom;
  return !HasCode(node) || written_by_call || !written->insert(value).second;
}

}  // namespace

absl::StatusOr<Graph> SeparateOutputs(const Graph& graph, const ShapeFacts& facts) {
  return RebuildGraph(graph, {.add_outputs = [](Graph& to, absl::Span<const Output> outputs) -> absl::Status {
                        std::set<Value> written;
                        for (const Output& output : outputs) {
                          Value value = output.value;
                          if (NeedsCopy(to, value, &written)) {
                            TAILOR_ASSIGN_OR_RETURN(
                                NodeId copy, to.Append(OpKind::kReshape, {value}, {{"shape", to.type(value).shape}}));
                            value = {copy, 0};
                          }
                          TAILOR_RETURN_IF_ERROR(to.AddOutput(output.name, value));
                        }
                        return absl::OkStatus();
                      }});
}

}  // namespace tailor
