#include <algorithm>
#include <deque>
#include <map>
#include <memory>
#include <set>
#include <string>

#include "bindings/frontend/error.h"
#include "bindings/onnx/graph_importer.h"

namespace tailor::onnx {
namespace {

struct Found {
  std::map<std::string, int> counts;  // nodes of each unsupported operator
  std::string first;                  // label of the first such node
};

// Unsupported operators of the model's graph, of subgraphs and of functions that are called. `branches`: those in
// branches of If too, which may not be taken.
Found FindUnsupported(const ModelImport& model, bool branches) {
  struct Waiting {
    const std::vector<NodeProto>* nodes;
    std::shared_ptr<const Opsets> opsets;
  };
  Found found;
  std::deque<Waiting> waiting = {{&model.proto.graph->nodes, std::make_shared<const Opsets>(model.proto.opsets)}};
  std::set<const FunctionProto*> called;
  while (!waiting.empty()) {
    const Waiting now = waiting.front();
    waiting.pop_front();
    for (const NodeProto& node : *now.nodes) {
      const auto function = model.functions.find({node.domain, node.op_type});
      if (function != model.functions.end()) {
        if (called.insert(function->second).second) {
          waiting.push_back(
              {&function->second->nodes, std::make_shared<const Opsets>(OpsetsIn(*function->second, *now.opsets))});
        }
        continue;
      }
      const int64_t opset = OpsetOf(*now.opsets, node.domain);
      const bool custom = model.options.custom_domains.contains(node.domain);
      if (!custom && FindOperator(node.domain, node.op_type, opset) == nullptr) {
        const std::string prefix = node.domain.empty() ? "" : std::string(node.domain) + "::";
        ++found.counts[prefix + std::string(node.op_type)];
        if (found.first.empty()) found.first = node.Label();
      }
      if (!branches && node.op_type == "If") continue;
      for (const AttributeProto& attribute : node.attributes) {
        if (attribute.g != nullptr) waiting.push_back({&attribute.g->nodes, now.opsets});
      }
    }
  }
  return found;
}

}  // namespace

void CheckOperators(const ModelImport& model) {
  const int64_t opset = OpsetOf(model.proto.opsets, "");
  if (opset > kNewestOpset) {
    frontend::Unsupported("opset " + std::to_string(opset) + " is newer than " + std::to_string(kNewestOpset) +
                          ", the newest that is supported");
  }
  if (FindUnsupported(model, /*branches=*/false).counts.empty()) return;
  throw frontend::Error(TAILOR_UNIMPLEMENTED, UnsupportedOperators(model),
                        FindUnsupported(model, /*branches=*/true).first);
}

std::string UnsupportedOperators(const ModelImport& model) {
  const Found all = FindUnsupported(model, /*branches=*/true);
  std::vector<std::pair<std::string, int>> sorted(all.counts.begin(), all.counts.end());
  std::stable_sort(sorted.begin(), sorted.end(), [](const auto& a, const auto& b) { return a.second > b.second; });
  std::string text = sorted.size() == 1 ? "1 operator is" : std::to_string(sorted.size()) + " operators are";
  text += " not supported: ";
  for (size_t i = 0; i < sorted.size(); ++i) {
    text += (i > 0 ? ", " : "") + sorted[i].first + " (" + std::to_string(sorted[i].second) +
            (sorted[i].second == 1 ? " node)" : " nodes)");
  }
  return text + "; the model is of opset " + std::to_string(OpsetOf(model.proto.opsets, ""));
}

}  // namespace tailor::onnx
