#include "tests/support/every_op.h"

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"

namespace tailor {
namespace {

// Attributes that fit x: [M, N], y: [M, N].
Attributes AttributesOf(const OpInfo& info, DType dtype) {
  const DimExpr m = DimExpr::Symbol(0), n = DimExpr::Symbol(1);
  switch (info.shape) {
    case ShapeRule::kReduce:
      return {{"axes", std::vector<int64_t>{1}}};
    case ShapeRule::kBroadcastTo:
      return {{"shape", Shape{2, m, n}}};
    case ShapeRule::kReshape:
      return {{"shape", Shape{m * n}}};
    case ShapeRule::kTranspose:
      return {{"permutation", std::vector<int64_t>{1, 0}}};
    case ShapeRule::kSlice:
      return {{"starts", Shape{m - 1, 0}}, {"sizes", Shape{m, 1}}, {"steps", std::vector<int64_t>{-1, 1}}};
    case ShapeRule::kConcat:
      return {{"axis", int64_t{1}}};
    case ShapeRule::kAlongAxis:
      return {{"axis", int64_t{1}}, {"combiner", std::string("add")}};
    case ShapeRule::kScatter:
      return {{"combiner", std::string("set")}};
    case ShapeRule::kPad:
      return {{"low", Shape{1, 0}}, {"high", Shape{-1, n}}, {"interior", std::vector<int64_t>{0, 1}}};
    case ShapeRule::kWindow:
      return {{"axes", std::vector<int64_t>{1}}, {"sizes", Shape{2}}};
    case ShapeRule::kContract:
      return {{"transpose_rhs", int64_t{1}}};
    case ShapeRule::kFromShape:
      return {{"shape", Shape{n, m}}, {"axis", int64_t{0}}, {"dtype", dtype}};
    default:
      return {};
  }
}

}  // namespace

Graph EveryOp(DType dtype) {
  Graph graph(NameOf(dtype));
  (void)graph.AddSymbol({.name = "M", .min = 1});
  (void)graph.AddSymbol({.name = "N", .min = 1});
  const Shape shape = {DimExpr::Symbol(0), DimExpr::Symbol(1)};
  const Value x = *graph.AddInput("x", dtype, shape), y = *graph.AddInput("y", dtype, shape);
  const Value condition = *graph.AddInput("c", DType::kBool, shape);
  const Value padding = *graph.AddInput("p", dtype, {});
  const Value indices = *graph.AddInput("i", DType::kI32, {shape[1]});
  const Value rows = *graph.AddInput("r", DType::kI64, {shape[1], 1}),
              updates = *graph.AddInput("u", dtype, {shape[1], shape[1]});
  auto append = [&](OpKind op, std::vector<Value> operands, Attributes attributes) {
    const auto node = graph.Append(op, operands, std::move(attributes));
    if (node.ok()) (void)graph.AddOutput(absl::StrCat("y", graph.outputs().size()), {*node, 0});
  };
  for (const OpInfo& info : AllOps()) {
    if (info.fusion == FusionClass::kStructural || info.fusion == FusionClass::kControl) continue;
    std::vector<Value> operands = {x, y};
    operands.resize(info.operands.size() < 2 && info.kind != OpKind::kConcat ? info.operands.size() : 2);
    if (info.kind == OpKind::kSelect) operands = {condition, x, y};
    if (info.kind == OpKind::kGather) operands = {x, indices};
    if (info.kind == OpKind::kPad) operands = {x, padding};
    if (info.kind == OpKind::kScatter) operands = {x, rows, updates};
    if (info.kind == OpKind::kCast || info.kind == OpKind::kBitcast) continue;
    append(info.kind, operands, AttributesOf(info, dtype));
  }
  for (DType to : kEveryDType) {
    append(OpKind::kCast, {x}, {{"dtype", to}});
    append(OpKind::kBitcast, {x}, {{"dtype", to}});
  }
  for (const char* combiner : {"add", "mul", "max", "min"}) {
    append(OpKind::kScatter, {x, rows, updates}, {{"combiner", std::string(combiner)}});
    for (int64_t form = 0; form < 8; ++form) {
      append(OpKind::kScan, {x},
             {{"axis", form % 2},
              {"combiner", std::string(combiner)},
              {"reverse", form / 2 % 2},
              {"exclusive", form / 4}});
    }
  }
  return graph;
}

}  // namespace tailor
