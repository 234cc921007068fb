// GraphMaker: appends random ops to a graph, each with operands that it accepts.
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
#include "tests/support/random_graph.h"

namespace tailor {

class GraphMaker {
 public:
  GraphMaker(uint64_t seed, const RandomGraphOptions& options) : options_(options), random_(seed) {}
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
  // One that inputs have; a constant where there is none.
  DimExpr AnySymbol();
  DimExpr AnyDim();
  Shape AnyShape(int max_rank);
  // A value that `accepts` does, the latest ones preferred.
  template <typename Accepts>
  std::optional<Value> Find(Accepts accepts);
  std::optional<Value> FindFloat(int min_rank);
  // A value to combine with `a` in one elementwise op: one at hand, or a new input or scalar.
  Value Partner(Value a);
  Value PartnerOfType(Value a, DType dtype);
  // Whether only a run tells the dim size, so that DrawSymbols cannot see to it that it fits.
  bool IsLate(const DimExpr& dim) const;
  bool IsLate(Value v) const;

  const Shape& shape(Value v) const { return graph_.type(v).shape; }
  DType dtype(Value v) const { return graph_.type(v).dtype; }
  int rank(Value v) const { return graph_.type(v).rank(); }

  // Appending. Ops that the type rules refuse append nothing and return nothing.
  void AddSymbols();
  void AddFirstInputs();
  void AddOutputs();
  // A new input; in a region, or where the shape is known late, what Filled gives.
  Value Input(DType dtype, Shape shape);
  Value Filled(DType dtype, const Shape& shape);
  // As Input, but indices into a dim of `dim size` entries.
  Value IndexInput(DType dtype, Shape shape, const DimExpr& dim_size);
  Value Scalar(DType dtype, double value);
  // A constant; one at hand with that type, now and then: tied weights.
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
  void AppendRowsOfView();
  void AppendScatter();
  void AppendIota();
  void AppendDot();
  void AppendProductsOfOne();
  void AppendLongMatmul();
  void AppendSequenceConv();
  void AppendImageLayers();
  void AppendQuantized();
  void AppendAfterMatmul(Value matmul);

  // Control flow. The maker of a region starts with its arguments as values.
  struct Signature;
  void AppendControl();
  void AppendWhile();
  void AppendIf();
  void AppendBind();
  void AppendSoMany(Value x, int64_t axis, const DimExpr& dim_size);
  void AppendRegions(OpKind op, const std::vector<Value>& operands, std::vector<Region> regions,
                     const std::vector<std::optional<DimExpr>>& dim_sizes);
  Signature SignatureFor(const std::vector<Value>& operands, const std::vector<bool>& own);
  GraphMaker RegionMaker(const Signature& signature);
  Region RegionReturning(std::vector<Value> results);  // ends the maker
  Value Changed(Value argument);
  Value Resized(Value argument);
  Value WithRow(Value argument, Value row);
  Value DimSizeOf(const DimExpr& dim);
  std::optional<Value> ExactCount();
  Value SmallCount();
  Value Decision();
  DimExpr NewSymbol(SymbolInfo info = {});

  Shape MergedShape(const Shape& from);
  std::optional<Shape> SplitShape(const Shape& from);
  std::optional<Value> Indices(const DimExpr& dim_size);

  const RandomGraphOptions options_;
  std::mt19937_64 random_;
  Graph graph_{"random"};
  std::vector<Value> values_;   // what ops may take as operands
  std::vector<Value> weights_;  // constants that Constant may give again
  int inputs_ = 0, constants_ = 0;
  int depth_ = 0;          // in so many regions
  int input_symbols_ = 0;  // the first ones; only a run tells others
};

template <typename Accepts>
std::optional<Value> GraphMaker::Find(Accepts accepts) {
  std::vector<Value> fitting;
  for (Value v : values_) {
    if (accepts(v)) fitting.push_back(v);
  }
  if (fitting.empty()) return std::nullopt;
  const int count = static_cast<int>(fitting.size());
  if (Percent(45)) return fitting.back();
  return fitting[Percent(50) ? count - 1 - Pick(std::min(count, 3)) : Pick(count)];
}

}  // namespace tailor

#endif  // TAILOR_TESTS_SUPPORT_RANDOM_GRAPH_MAKER_H_
