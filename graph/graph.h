// Graph: an append-only SSA tensor graph over symbolic shapes, always typed and in topological order. A value is (node,
// result index). Regions (loop bodies, branches) are closed: they see only their own arguments. Canonical text:
// ToText() here, ParseGraph() in graph/text.h.
//
// Thread-compatible: concurrent const access is safe, writers must be exclusive.
#ifndef TAILOR_GRAPH_GRAPH_H_
#define TAILOR_GRAPH_GRAPH_H_

#include <compare>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "graph/dim_expr.h"
#include "graph/dtype.h"
#include "graph/ops.h"

namespace tailor {

using NodeId = int32_t;

struct Value {
  NodeId node = -1;
  int32_t result = 0;
  friend auto operator<=>(const Value&, const Value&) = default;
  template <typename H>
  friend H AbslHashValue(H h, Value v) {
    return H::combine(std::move(h), v.node, v.result);
  }
};

struct TensorType {
  DType dtype = DType::kInvalid;
  Shape shape;
  int rank() const { return static_cast<int>(shape.size()); }
  friend bool operator==(const TensorType&, const TensorType&) = default;
};

using Attribute = std::variant<int64_t, std::vector<int64_t>, double, std::string, DType, Shape>;
// An appended node holds every attribute of the op's row, defaults filled in, in canonical form: axes are counted from
// 0 and sorted, and a slice has one step per dim.
using Attributes = std::map<std::string, Attribute, std::less<>>;

class Graph;

// A closed body: the inputs of `graph` are the region's arguments, its outputs the results, both in order.
struct Region {
  std::shared_ptr<const Graph> graph;
};

struct Node {
  OpKind op;
  std::vector<Value> operands;
  Attributes attributes;
  std::vector<Region> regions;
  std::vector<TensorType> results;
  std::string name;  // the user's name, for messages; may be empty or repeated

  int64_t i64(absl::string_view attribute) const;
  const std::vector<int64_t>& i64s(absl::string_view attribute) const;
  const std::string& string(absl::string_view attribute) const;
  DType dtype(absl::string_view attribute) const;
  const Shape& dims(absl::string_view attribute) const;
};

struct SymbolInfo {
  std::string name;
  int64_t min = 0;
  int64_t max = INT32_MAX;
  int64_t multiple_of = 1;
  std::vector<int64_t> likely;
};

// The bytes of a constant, dense row-major. `data` is valid while `owner` is alive.
struct ConstantData {
  std::shared_ptr<const void> owner;
  const void* data = nullptr;
  uint64_t size = 0;
  // Hash of the original bytes, if `data` is a placeholder (text parsed without a ConstantSource).
  std::optional<uint64_t> declared_hash;

  uint64_t Hash() const;
};

struct Output {
  std::string name;
  Value value;
};

// A relation that the caller asserts: compilation uses it, and every run checks it unless it is assured.
struct Assumption {
  enum class Relation { kEqual, kAtLeast };
  Relation relation;
  DimExpr lhs, rhs;
  std::string what;      // reason of the assumption, for messages; may be empty
  bool assured = false;  // the compiler's own: it holds where the graph runs
};

class Graph {
 public:
  explicit Graph(std::string name = "main") : name_(std::move(name)) {}

  // Adds a symbol. Fails for an empty or repeated name, min > max, min < 0, multiple_of < 1, a range without a multiple
  // of multiple_of, or a likely value that is out of range or not such a multiple.
  absl::StatusOr<SymbolId> AddSymbol(SymbolInfo info);
  // Fails for a symbol that is not the graph's, and for two constants that contradict the assumption.
  absl::Status Assume(Assumption assumption);
  absl::Status AssumeEqual(const DimExpr& a, const DimExpr& b);

  // Appends `op` and infers its result types (graph/type_rules.h). Fails, changing nothing, for an invalid arity,
  // dtype, rank, attribute or value id; the message names op, operand and values. Inputs and constants are appended by
  // AddInput and AddConstant.
  absl::StatusOr<NodeId> Append(OpKind op, absl::Span<const Value> operands, Attributes attributes = {},
                                std::vector<Region> regions = {});
  absl::StatusOr<Value> AddInput(absl::string_view name, DType dtype, Shape shape);
  // `data.size` must be the byte size of `shape`, which is constant.
  absl::StatusOr<Value> AddConstant(absl::string_view name, DType dtype, Shape shape, ConstantData data);
  // Makes `value` an output; the name must be new. One value may be several outputs.
  absl::Status AddOutput(absl::string_view name, Value value);
  // Names a node, for messages and text. Inputs keep their names.
  void SetNodeName(NodeId node, absl::string_view name);

  // A position in the graph's history. RevertTo removes everything that was added after `mark`; values added since
  // become invalid.
  struct Mark {
    size_t nodes, symbols, inputs, outputs, assumptions;
  };
  Mark mark() const { return {nodes_.size(), symbols_.size(), inputs_.size(), outputs_.size(), assumptions_.size()}; }
  void RevertTo(const Mark& mark) noexcept;

  const std::string& name() const { return name_; }
  absl::Span<const Node> nodes() const { return nodes_; }
  const Node& node(NodeId id) const { return nodes_[id]; }
  const TensorType& type(Value v) const { return nodes_[v.node].results[v.result]; }
  absl::Span<const SymbolInfo> symbols() const { return symbols_; }
  std::optional<SymbolId> FindSymbol(absl::string_view name) const;
  const SymbolInfo& symbol(SymbolId id) const { return symbols_[id]; }
  absl::Span<const NodeId> inputs() const { return inputs_; }  // in order of AddInput
  absl::Span<const Output> outputs() const { return outputs_; }
  absl::Span<const Assumption> assumptions() const { return assumptions_; }
  const ConstantData& constant_data(NodeId constant) const;
  bool Contains(Value v) const;

  // The name of a value in messages and text: %<node name> if no earlier node has that name, else %<id>. Results of a
  // node with several results append #<result>.
  std::string NameOf(Value v) const;
  bool PrintsByName(NodeId id) const;
  std::string DimText(const DimExpr& dim) const;
  std::string ShapeText(absl::Span<const DimExpr> shape) const;  // "[B, 4*S]"
  std::string TypeText(const TensorType& type) const;            // "f32[B, 4*S]"
  // Canonical: ParseGraph(ToText()) is the same graph, except that constants have names and hashes but no bytes.
  std::string ToText() const;

 private:
  absl::StatusOr<NodeId> AppendNode(OpKind op, absl::Span<const Value> operands, Attributes attributes,
                                    std::vector<Region> regions);
  absl::Status CheckOperands(const OpInfo& info, absl::Span<const Value> operands) const;
  absl::Status CheckDims(absl::string_view op, absl::string_view what, absl::Span<const DimExpr> dims) const;

  std::string name_;
  std::vector<Node> nodes_;
  std::vector<SymbolInfo> symbols_;
  std::vector<NodeId> inputs_;
  std::vector<Output> outputs_;
  std::vector<Assumption> assumptions_;
  std::map<NodeId, ConstantData> constants_;
  std::map<std::string, std::set<NodeId>, std::less<>> named_nodes_;
  std::map<std::string, SymbolId, std::less<>> symbol_ids_;
};

}  // namespace tailor

#endif  // TAILOR_GRAPH_GRAPH_H_
