// GraphMaker: appends random ops to a graph, each to operands that fit it.
#ifndef TAILOR_TESTS_SUPPORT_RANDOM_GRAPH_MAKER_H_
#define TAILOR_TESTS_SUPPORT_RANDOM_GRAPH_MAKER_H_

#include <algorithm>
#include <initializer_list>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "graph/graph.h"

namespace tailor {

class GraphMaker {
 public:
  explicit GraphMaker(uint64_t seed) : random_(seed) {}
  Graph Make();

 private:
  // Choices.
  int Pick(int bound) { return static_cast<int>(random_() % static_cast<uint64_t>(bound)); }
  bool Percent(int share) { return Pick(100) < share; }
  template <typename T>
  const T& OneOf(const std::vector<T>& choices) {
    return choices[Pick(static_cast<int>(choices.size()))];
  }
  DType AnyDType();
  DimExpr AnySymbol() { return DimExpr::Symbol(Pick(static_cast<int>(graph_.symbols().size()))); }
  DimExpr AnyDim();
  Shape AnyShape(int max_rank);
  // A value that `accepts` does, the latest ones preferred.
  template <typename Accepts>
  std::optional<Value> Find(Accepts accepts);
  std::optional<Value> FindFloat(int min_rank);
  // A value to combine with `a` in one elementwise op: one at hand, or a new input or scalar.
  Value Partner(Value a);
  Value PartnerOfType(Value a, DType dtype);

  const Shape& shape(Value v) const { return graph_.type(v).shape; }
  DType dtype(Value v) const { return graph_.type(v).dtype; }
  int rank(Value v) const { return graph_.type(v).rank(); }

  // Appending. Ops that the type rules refuse append nothing and return nothing.
  void AddSymbols();
  void AddFirstInputs();
  void AddOutputs();
  Value Input(DType dtype, Shape shape);
  Value Scalar(DType dtype, double value);
  Value Constant(DType dtype, Shape shape);
  std::optional<Value> Append(OpKind op, std::initializer_list<Value> operands, Attributes attributes = {});
  void Keep(std::optional<Value> v);
  void Keep(const absl::StatusOr<Value>& v);

  // One op, or one compound, each.
  void AppendAny();
  void AppendUnary();
  void AppendBinary();
  void AppendCompare();
  void AppendSelect();
  void AppendLogic();
  void AppendCast();
  void AppendBitcast();
  void AppendReduce();
  void AppendScan();
  void AppendCompound();
  void AppendAttention();
  void AppendHeads();
  void AppendBroadcast();
  void AppendReshape();
  void AppendTranspose();
  void AppendSlice();
  void AppendConcat();
  void AppendShift();
  void AppendPad();
  void AppendWindow();
  void AppendGather();
  void AppendEmbedding();
  void AppendScatter();
  void AppendIota();
  void AppendDot();

  Shape MergedShape(const Shape& from);
  std::optional<Shape> SplitShape(const Shape& from);
  std::optional<Value> Indices(const DimExpr& extent);

  std::mt19937_64 random_;
  Graph graph_{"random"};
  std::vector<Value> values_;  // what ops may take as operands
  int inputs_ = 0, constants_ = 0;
};

template <typename Accepts>
std::optional<Value> GraphMaker::Find(Accepts accepts) {
  std::vector<Value> fitting;
  for (Value v : values_) {
    if (accepts(v)) fitting.push_back(v);
  }
  if (fitting.empty()) return std::nullopt;
  const int count = static_cast<int>(fitting.size());
  return fitting[Percent(60) ? count - 1 - Pick(std::min(count, 3)) : Pick(count)];
}

}  // namespace tailor

#endif  // TAILOR_TESTS_SUPPORT_RANDOM_GRAPH_MAKER_H_
