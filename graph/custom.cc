#include "graph/custom.h"

#include <algorithm>
#include <cstdint>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "graph/compaction.h"
#include "graph/element.h"
#include "graph/formula_ops.h"
#include "graph/status_macros.h"

namespace tailor {
namespace {

constexpr absl::string_view kOwnNames = "tailor.", kRunState = "tailor.run_state";

// Seed and run number.
const std::vector<TensorType>& RunStateTypes() {
  static const auto* const types = new std::vector<TensorType>{{DType::kU64, {2}}};
  return *types;
}

Attributes AttributesOf(const CustomOp& op, absl::Span<const TensorType> results) {
  std::vector<const char*> dtypes;
  std::vector<int64_t> ranks;
  Shape shapes;
  for (const TensorType& type : results) {
    dtypes.push_back(NameOf(type.dtype));
    ranks.push_back(type.rank());
    shapes.insert(shapes.end(), type.shape.begin(), type.shape.end());
  }
  return {{"name", op.name},           {"attributes", op.attributes},
          {"pure", int64_t{op.pure}},  {"dtypes", absl::StrJoin(dtypes, " ")},
          {"ranks", std::move(ranks)}, {"shapes", std::move(shapes)}};
}

// The operator's name as the beginning of a symbol's name.
std::string SymbolName(const std::string& name) {
  std::string symbol = name;
  for (char& c : symbol) {
    if (!absl::ascii_isalnum(c)) c = '_';
  }
  return absl::ascii_isdigit(symbol[0]) ? absl::StrCat("_", symbol) : symbol;
}

// The part of `whole` that `count` elements of dim `dim` take.
absl::StatusOr<Value> Counted(Graph& graph, const CustomOp& op, Value whole, int dim, Value count) {
  Shape shape = graph.type(whole).shape;
  TAILOR_ASSIGN_OR_RETURN(shape[dim], FreshDimSize(graph, SymbolName(op.name), shape[dim]));
  Formula f(&graph);
  f.Apply(OpKind::kBind, {count}, {{"extent", Shape{shape[dim]}}});
  const Shape starts(shape.size(), 0);
  const Value part = f.Apply(OpKind::kSlice, {whole}, {{"starts", starts}, {"sizes", shape}});
  if (f.ok()) graph.SetNodeName(part.node, op.name);
  return f.Finish(part);
}

absl::Status CheckResults(const CustomOp& op, absl::Span<const CustomResult> results) {
  for (size_t i = 0; i < results.size(); ++i) {
    if (results[i].counted_dim < results[i].type.rank()) continue;
    return absl::InvalidArgumentError(absl::StrCat("custom operator \"", op.name, "\": the counted dim of result ", i,
                                                   " is ", results[i].counted_dim, ", but its rank is ",
                                                   results[i].type.rank()));
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::vector<Value>> Custom(Graph& graph, const CustomOp& op, absl::Span<const Value> operands,
                                          absl::Span<const CustomResult> results) {
  TAILOR_RETURN_IF_ERROR(CheckResults(op, results));
  std::vector<TensorType> types;
  for (const CustomResult& result : results) types.push_back(result.type);
  for (const CustomResult& result : results) {
    if (result.counted_dim >= 0) types.push_back({DType::kI64, {}});
  }
  TAILOR_ASSIGN_OR_RETURN(const NodeId id, graph.Append(OpKind::kCustom, operands, AttributesOf(op, types)));
  std::vector<Value> values;
  auto count = static_cast<int32_t>(results.size());
  for (int32_t i = 0; i < static_cast<int32_t>(results.size()); ++i) {
    values.push_back({id, i});
    if (results[i].counted_dim < 0) continue;
    TAILOR_ASSIGN_OR_RETURN(values.back(),
                            Counted(graph, op, values.back(), results[i].counted_dim, Value{id, count++}));
  }
  return values;
}

absl::StatusOr<std::vector<TensorType>> CustomTypes(const Application& op) {
  const auto& name = op.attribute<std::string>("name");
  const auto& dtypes = op.attribute<std::string>("dtypes");
  const auto& ranks = op.attribute<std::vector<int64_t>>("ranks");
  const auto& shapes = op.attribute<Shape>("shapes");
  if (name.empty()) return op.Error("attribute \"name\" is empty");
  if (const int64_t pure = op.attribute<int64_t>("pure"); pure != 0 && pure != 1) {
    return op.Error("attribute \"pure\" is ", pure, ", needs 0 or 1");
  }
  const std::vector<std::string> names = absl::StrSplit(dtypes, ' ', absl::SkipEmpty());
  if (names.empty()) return op.Error("\"", name, "\" has no result, needs at least one");
  if (names.size() != ranks.size()) {
    return op.Error("attributes \"dtypes\" and \"ranks\" have ", names.size(), " and ", ranks.size(), " entries");
  }
  std::vector<TensorType> types;
  auto next = shapes.begin();
  for (size_t i = 0; i < names.size(); ++i) {
    const DType dtype = DTypeOf(names[i]);
    if (!IsValid(dtype)) return op.Error("attribute \"dtypes\" has \"", names[i], "\", which is no element type");
    if (ranks[i] < 0 || ranks[i] > shapes.end() - next) {
      return op.Error("attribute \"shapes\" has ", shapes.size(), " entries, which are not the results' ranks");
    }
    types.push_back({dtype, Shape(next, next + ranks[i])});
    next += ranks[i];
  }
  if (absl::StartsWith(name, kOwnNames) && (name != kRunState || types != RunStateTypes() || !op.operands.empty())) {
    return op.Error("\"", name, "\": of the names that begin with tailor. only ", kRunState,
                    " is known, which has no operands and returns u64[2]");
  }
  if (next != shapes.end()) {
    return op.Error("attribute \"shapes\" has ", shapes.size(), " entries, which are not the results' ranks");
  }
  return types;
}

bool HasEffects(const Node& node) {
  if (node.op == OpKind::kCustom) return node.i64("pure") == 0;
  return std::any_of(node.regions.begin(), node.regions.end(), [](const Region& region) {
    const absl::Span<const Node> nodes = region.graph->nodes();
    return std::any_of(nodes.begin(), nodes.end(), HasEffects);
  });
}

}  // namespace tailor
