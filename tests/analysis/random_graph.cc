#include "tests/analysis/random_graph.h"

#include <string>
#include <utility>
#include <vector>

namespace tailor {
namespace {

constexpr int kSymbols = 3;

class Maker {
 public:
  explicit Maker(std::mt19937& random) : random_(random) {}

  Graph Make() {
    for (int i = 0; i < kSymbols; ++i) {
      int64_t min = Pick(3), max = min + 1 + Pick(6);
      (void)graph_.AddSymbol({std::string(1, static_cast<char>('S' + i)), min, max, Pick(4) == 0 ? 2 : 1, {}});
    }
    if (Pick(3) == 0) (void)graph_.AssumeEqual(DimSize(), DimSize());
    if (Pick(3) == 0) (void)graph_.Assume({Assumption::Relation::kAtLeast, DimSize(), DimSize(), ""});
    Shape symbols;
    for (int i = 0; i < kSymbols; ++i) symbols.push_back(DimExpr::Symbol(i));
    Input("x", {symbols[0], symbols[1]});
    Input("y", {symbols[2], DimSize()});
    Input("z", {DimSize()});
    for (int i = 0; i < 5; ++i) AppendOp();
    return std::move(graph_);
  }

 private:
  int Pick(int bound) { return static_cast<int>(random_() % bound); }

  DimExpr DimSize() {
    DimExpr symbol = DimExpr::Symbol(Pick(kSymbols));
    switch (Pick(8)) {
      case 0:
        return Pick(5);
      case 1:
        return symbol + Pick(3);
      case 2:
        return symbol * 2;
      case 3:
        return symbol * DimExpr::Symbol(Pick(kSymbols));
      case 4:
        return symbol - Pick(3);
      case 5:
        return DimExpr::FloorDiv(symbol, 2);
      default:
        return symbol;
    }
  }

  void Input(const char* name, const Shape& shape) {
    if (auto value = graph_.AddInput(name, DType::kF32, shape); value.ok()) values_.push_back(*value);
  }

  // Operands or attributes that fail the type rules append nothing.
  void AppendOp() {
    Value a = values_[Pick(static_cast<int>(values_.size()))], b = values_[Pick(static_cast<int>(values_.size()))];
    const Shape& shape = graph_.type(a).shape;
    switch (Pick(7)) {
      case 0:
      case 1:
        return Append(OpKind::kAdd, {a, b}, {});
      case 2:
        return Append(OpKind::kDot, {a, b}, {{"transpose_rhs", int64_t{Pick(2)}}});
      case 3:
        return Append(OpKind::kReshape, {a}, {{"shape", Shape{DimSize(), DimSize()}}});
      case 4:
        return Append(OpKind::kBroadcast, {a}, {{"shape", Shape{DimSize(), DimSize()}}});
      case 5:
        return Append(OpKind::kConcat, {a, b}, {{"axis", int64_t{0}}});
      default: {
        Shape starts, sizes;
        std::vector<int64_t> steps;
        for (const DimExpr& dim : shape) {
          starts.push_back(Pick(2) == 0 ? DimExpr(0) : dim - 1);
          sizes.push_back(DimSize());
          steps.push_back(starts.back() == DimExpr(0) ? 1 + Pick(2) : -1);
        }
        return Append(OpKind::kSlice, {a}, {{"starts", starts}, {"sizes", sizes}, {"steps", steps}});
      }
    }
  }

  void Append(OpKind op, const std::vector<Value>& operands, Attributes attributes) {
    if (auto node = graph_.Append(op, operands, std::move(attributes)); node.ok()) values_.push_back({*node, 0});
  }

  std::mt19937& random_;
  Graph graph_;
  std::vector<Value> values_;
};

}  // namespace

Graph RandomGraph(std::mt19937& random) { return Maker(random).Make(); }

}  // namespace tailor
