// What GraphMaker appends: one function an op or a family of ops.
#include "graph/builders.h"
#include "tests/support/random_graph_maker.h"

namespace tailor {
namespace {

DimExpr Clamped(const DimExpr& dim, int64_t most) { return DimExpr::Min(dim, most); }

}  // namespace

// Operands are mostly brought to where the function is tame: what grows beyond bounds compares as unknown.
void GraphMaker::AppendUnary() {
  const auto x = Percent(85) ? FindFloat(0) : Find([&](Value v) { return dtype(v) != DType::kBool; });
  if (!x) return;
  const OpKind op = OneOf<OpKind>({OpKind::kNeg, OpKind::kAbs, OpKind::kExp, OpKind::kLog, OpKind::kTanh, OpKind::kErf,
                                   OpKind::kSqrt, OpKind::kRsqrt, OpKind::kSigmoid, OpKind::kFloor, OpKind::kCeil,
                                   OpKind::kRound, OpKind::kTrunc, OpKind::kSin, OpKind::kCos, OpKind::kTan,
                                   OpKind::kAsin, OpKind::kAcos, OpKind::kAtan});
  const bool on_positive = op == OpKind::kLog || op == OpKind::kSqrt || op == OpKind::kRsqrt;
  if (!IsFloat(dtype(*x)) || Percent(15)) return Keep(Append(op, {*x}));
  if (op == OpKind::kExp) return Keep(Append(op, {*Append(OpKind::kMin, {*x, Scalar(dtype(*x), 3)})}));
  if (!on_positive) return Keep(Append(op, {*x}));
  const Value positive = *Append(OpKind::kAdd, {*Append(OpKind::kAbs, {*x}), Scalar(dtype(*x), 0.25)});
  Keep(Append(op, {positive}));
}

void GraphMaker::AppendBinary() {
  const auto x = Find([&](Value v) { return dtype(v) != DType::kBool; });
  if (!x) return;
  Value y = Partner(*x);
  const OpKind op = OneOf<OpKind>({OpKind::kAdd, OpKind::kAdd, OpKind::kSub, OpKind::kMul, OpKind::kMul, OpKind::kDiv,
                                   OpKind::kPow, OpKind::kMax, OpKind::kMin, OpKind::kMod, OpKind::kRem});
  const bool tamed = IsFloat(dtype(*x)) && !Percent(15);
  if (op == OpKind::kDiv && tamed) {
    y = *Append(OpKind::kAdd, {*Append(OpKind::kAbs, {y}), Scalar(dtype(y), 0.5)});
  }
  if (op == OpKind::kPow && tamed) {
    const Value base = *Append(OpKind::kAdd, {*Append(OpKind::kAbs, {*x}), Scalar(dtype(y), 0.25)});
    const Value power = Percent(50) ? Scalar(dtype(y), OneOf<double>({0.5, 1, 2, 3, -1})) : *Append(OpKind::kTanh, {y});
    return Keep(Append(op, {base, power}));
  }
  Keep(Percent(50) ? Append(op, {*x, y}) : Append(op, {y, *x}));
}

void GraphMaker::AppendCompare() {
  const Value x = OneOf(values_);
  const OpKind op =
      OneOf<OpKind>({OpKind::kEq, OpKind::kNe, OpKind::kLt, OpKind::kLe, OpKind::kGt, OpKind::kGe});
  Keep(Append(op, {x, Partner(x)}));
}

void GraphMaker::AppendSelect() {
  const Value x = OneOf(values_);
  const Value y = Partner(x);
  auto condition = Append(OneOf<OpKind>({OpKind::kLt, OpKind::kGe, OpKind::kNe}), {x, y});
  if (Percent(50)) condition = PartnerOfType(x, DType::kBool);
  Keep(Append(OpKind::kSelect, {*condition, x, Percent(50) ? y : Partner(x)}));
}

void GraphMaker::AppendLogic() {
  const auto x = Find([&](Value v) { return !IsFloat(dtype(v)); });
  if (!x) return;
  if (Percent(25)) return Keep(Append(OpKind::kNot, {*x}));
  Keep(Append(OneOf<OpKind>({OpKind::kAnd, OpKind::kOr, OpKind::kXor}), {*x, Partner(*x)}));
}

void GraphMaker::AppendCast() {
  Keep(Append(OpKind::kCast, {OneOf(values_)}, {{"dtype", AnyDType()}}));
}

void GraphMaker::AppendReduce() {
  const auto x = Find([&](Value v) { return dtype(v) != DType::kBool && rank(v) > 0; });
  if (!x) return;
  std::vector<int64_t> axes;
  for (int d = 0; d < rank(*x); ++d) {
    if (Percent(d == rank(*x) - 1 ? 65 : 30)) axes.push_back(d);
  }
  if (axes.empty() && !Percent(10)) axes.push_back(-1);
  const OpKind op = OneOf<OpKind>({OpKind::kReduceSum, OpKind::kReduceMax, OpKind::kReduceMin, OpKind::kReduceMean,
                                   OpKind::kReduceProd});
  const auto y = Append(op, {*x}, {{"axes", axes}, {"keep_dims", int64_t{Percent(50)}}});
  Keep(y);
  if (!y || !Percent(50)) return;
  Keep(Append(OneOf<OpKind>({OpKind::kSub, OpKind::kMul, OpKind::kAdd}), {*x, *y}));  // where the shapes let it
}

void GraphMaker::AppendCompound() {
  const auto x = FindFloat(1);
  if (!x) return;
  const int64_t axis = Percent(70) ? rank(*x) - 1 : Pick(rank(*x));
  switch (Pick(7)) {
    case 0: case 1:
      return Keep(Softmax(graph_, *x, axis));
    case 2:
      return Keep(LogSoftmax(graph_, *x, axis));
    case 3: {
      const Shape last = {shape(*x).back()};
      const Value scale = Percent(60) ? Input(dtype(*x), last) : Value{};
      return Keep(LayerNorm(graph_, *x, scale, Percent(60) ? Input(dtype(*x), last) : Value{}, 0.125));
    }
    case 4:
      return Keep(GeluErf(graph_, *x));
    case 5:
      return Keep(GeluTanh(graph_, *x));
    default:
      return Keep(L2Normalize(graph_, *x, axis, 0.0625));
  }
}

// Attention over new inputs, or over the heads of projections of one.
void GraphMaker::AppendAttention() {
  if (Percent(40)) return AppendHeads();
  Shape batch = AnyShape(2);
  auto matrix = [&](const DimExpr& rows, const DimExpr& columns) {
    Shape shape = batch;
    shape.push_back(rows);
    shape.push_back(columns);
    return Input(DType::kF32, std::move(shape));
  };
  const DimExpr m = AnyDim(), n = AnyDim(), depth = Percent(50) ? DimExpr(8) : AnySymbol();
  const Value query = matrix(m, depth), key = matrix(n, depth), value = matrix(n, AnyDim());
  const Value mask = Percent(50) ? Input(DType::kF32, {Percent(50) ? DimExpr(1) : m, n}) : Value{};
  Keep(Attention(graph_, query, key, value, mask, 0.5));
}

void GraphMaker::AppendHeads() {
  const int64_t heads = OneOf<int64_t>({1, 2, 3}), depth = OneOf<int64_t>({4, 8, 16}), width = heads * depth;
  const DimExpr batch = AnySymbol(), length = AnySymbol();
  const Value x = Input(DType::kF32, {batch, length, width});
  auto project = [&] {
    const Value y = *Append(OpKind::kDot, {x, Constant(DType::kF32, {width, width})},
                            {{"transpose_rhs", int64_t{Percent(50)}}});
    const Value biased = *Append(OpKind::kAdd, {y, Constant(DType::kF32, {width})});
    const Value split = *Append(OpKind::kReshape, {biased}, {{"shape", Shape{batch, length, heads, depth}}});
    return *Append(OpKind::kTranspose, {split}, {{"permutation", std::vector<int64_t>{0, 2, 1, 3}}});
  };
  const Value query = project(), key = project(), value = Percent(50) ? key : project();
  const Value mask = Percent(50) ? Input(DType::kF32, {batch, 1, 1, length}) : Value{};
  const auto attended = Attention(graph_, query, key, value, mask, 0.5);
  if (!attended.ok()) return;
  const Value back = *Append(OpKind::kTranspose, {*attended}, {{"permutation", std::vector<int64_t>{0, 2, 1, 3}}});
  Keep(Append(OpKind::kReshape, {back}, {{"shape", Shape{batch, length, width}}}));
}

void GraphMaker::AppendBroadcast() {
  const Value x = OneOf(values_);
  Shape to = shape(x);
  for (DimExpr& dim : to) {
    if (dim == DimExpr(1) || Percent(5)) dim = AnyDim();
  }
  for (int i = Pick(3); i > 0 && to.size() < 4; --i) to.insert(to.begin(), AnyDim());
  Keep(Append(OpKind::kBroadcast, {x}, {{"shape", to}}));
}

Shape GraphMaker::MergedShape(const Shape& from) {
  Shape to = from;
  if (Percent(20)) return {ElementCount(from)};
  if (to.size() > 1) {
    const int at = Pick(static_cast<int>(to.size()) - 1);
    to[at] = to[at] * to[at + 1];
    to.erase(to.begin() + at + 1);
  }
  return to;
}

// One dim that is a product becomes its factors, or one that has a known divisor a multiple and a rest.
std::optional<Shape> GraphMaker::SplitShape(const Shape& from) {
  for (size_t d = 0; d < from.size(); ++d) {
    if (from[d].terms().size() != 1) continue;
    const DimExpr::Term& term = from[d].terms()[0];
    DimExpr first, rest;
    if (!term.factors.empty() && (term.coefficient > 1 || term.factors.size() > 1 || term.factors[0].power > 1)) {
      const auto& atom = *term.factors[0].atom;
      if (atom.kind != DimExpr::AtomKind::kSymbol) continue;
      first = DimExpr::Symbol(atom.symbol);
      rest = term.coefficient;
      for (size_t f = 0; f < term.factors.size(); ++f) {
        if (term.factors[f].atom->kind != DimExpr::AtomKind::kSymbol) return std::nullopt;
        const int power = term.factors[f].power - (f == 0 ? 1 : 0);
        for (int i = 0; i < power; ++i) rest = rest * DimExpr::Symbol(term.factors[f].atom->symbol);
      }
    } else if (auto symbol = from[d].symbol(); symbol && graph_.symbol(*symbol).multiple_of > 1) {
      rest = graph_.symbol(*symbol).multiple_of;
      first = DimExpr::FloorDiv(from[d], rest);
    } else {
      continue;
    }
    if (Percent(50)) std::swap(first, rest);
    Shape to = from;
    to[d] = first;
    to.insert(to.begin() + static_cast<int64_t>(d) + 1, rest);
    return to;
  }
  return std::nullopt;
}

void GraphMaker::AppendReshape() {
  const Value x = OneOf(values_);
  Shape to = shape(x);
  std::vector<Shape> alike;  // shapes at hand with as many elements
  for (Value v : values_) {
    if (shape(v) != to && ElementCount(shape(v)) == ElementCount(to)) alike.push_back(shape(v));
  }
  const auto split = SplitShape(to);
  if (Percent(3)) {
    to = AnyShape(3);  // mostly refused at run time
  } else if (!alike.empty() && Percent(50)) {
    to = OneOf(alike);
  } else if (split && Percent(60)) {
    to = *split;
  } else if (Percent(60)) {
    to = MergedShape(to);
  } else {
    to.insert(to.begin() + Pick(static_cast<int>(to.size()) + 1), DimExpr(1));
  }
  if (to.size() <= 5) Keep(Append(OpKind::kReshape, {x}, {{"shape", to}}));
}

void GraphMaker::AppendTranspose() {
  const auto x = Find([&](Value v) { return rank(v) > 0; });
  if (!x) return;
  std::vector<int64_t> permutation;
  for (int d = 0; d < rank(*x); ++d) permutation.push_back(d);
  if (Percent(50) && permutation.size() > 1) {
    std::swap(permutation.back(), permutation[permutation.size() - 2]);
  } else {
    std::shuffle(permutation.begin(), permutation.end(), random_);
  }
  Keep(Append(OpKind::kTranspose, {*x}, {{"permutation", permutation}}));
}

void GraphMaker::AppendSlice() {
  const auto x = Find([&](Value v) { return rank(v) > 0; });
  if (!x) return;
  Shape starts, sizes;
  std::vector<int64_t> steps;
  for (const DimExpr& dim : shape(*x)) {
    DimExpr start = 0, size = dim;
    int64_t step = 1;
    switch (Pick(12)) {
      case 0:
        start = dim - 1, step = -1;
        break;
      case 1:
        size = Clamped(dim, 1 + Pick(5));
        break;
      case 2:
        size = Clamped(dim, 1 + Pick(5)), start = dim - size;
        break;
      case 3:
        size = DimExpr::CeilDiv(dim, 2), step = 2;
        break;
      case 4:
        start = 1, size = dim - 1;
        break;
      case 5:
        size = Percent(70) ? 1 : 0;
        break;
      default:
        break;
    }
    starts.push_back(start);
    sizes.push_back(size);
    steps.push_back(step);
  }
  Keep(Append(OpKind::kSlice, {*x}, {{"starts", starts}, {"sizes", sizes}, {"steps", steps}}));
}

void GraphMaker::AppendConcat() {
  const auto x = Find([&](Value v) { return rank(v) > 0; });
  if (!x) return;
  const int64_t axis = Pick(rank(*x));
  std::vector<Value> parts = {*x};
  for (int i = 1 + Pick(2); i > 0; --i) {
    const auto at_hand = Find([&](Value v) {
      if (dtype(v) != dtype(*x) || rank(v) != rank(*x)) return false;
      Shape aligned = shape(v);
      aligned[axis] = shape(*x)[axis];
      return aligned == shape(*x);
    });
    Shape other = shape(*x);
    other[axis] = AnyDim();
    const Value part = Percent(60) ? *at_hand : Input(dtype(*x), std::move(other));
    parts.insert(parts.begin() + Pick(static_cast<int>(parts.size()) + 1), part);
  }
  const auto node = graph_.Append(OpKind::kConcat, parts, {{"axis", axis}});
  if (node.ok()) Keep(std::optional<Value>(Value{*node, 0}));
}

void GraphMaker::AppendShift() {
  const auto x = Find([&](Value v) { return IsInteger(dtype(v)); });
  if (!x) return;
  Keep(Append(Percent(50) ? OpKind::kShiftLeft : OpKind::kShiftRight, {*x, Partner(*x)}));
}

void GraphMaker::AppendPad() {
  const Value x = OneOf(values_);
  Shape low, high;
  std::vector<int64_t> interior;
  for (int d = 0; d < rank(x); ++d) {
    const bool some = Percent(50);
    low.push_back(!some ? DimExpr(0) : Percent(15) ? AnySymbol() : DimExpr(Pick(5) - 1));
    high.push_back(!some || Percent(30) ? DimExpr(0) : Percent(15) ? DimExpr(1) - low[d] : DimExpr(Pick(5) - 1));
    interior.push_back(Percent(10) ? 1 + Pick(2) : 0);
  }
  const Value value = Scalar(dtype(x), Pick(3));
  Keep(Append(OpKind::kPad, {x, value}, {{"low", low}, {"high", high}, {"interior", interior}}));
}

// Windows over one or two dims, mostly reduced again: a pool.
void GraphMaker::AppendWindow() {
  const auto x = Find([&](Value v) { return rank(v) > 0 && rank(v) < 4; });
  if (!x) return;
  std::vector<int64_t> axes, strides, dilations, last;
  Shape sizes;
  for (int d = 0; d < rank(*x); ++d) {
    if (axes.size() == 2 || !Percent(60)) continue;
    axes.push_back(d);
    sizes.push_back(Percent(10) ? AnySymbol() : DimExpr(1 + Pick(4)));
    strides.push_back(Percent(60) ? 1 : 2 + Pick(2));
    dilations.push_back(Percent(75) ? 1 : 2);
    last.push_back(-static_cast<int64_t>(axes.size()));
  }
  const auto windows =
      Append(OpKind::kWindow, {*x}, {{"axes", axes}, {"sizes", sizes}, {"strides", strides}, {"dilations", dilations}});
  if (!windows || axes.empty() || !Percent(70) || dtype(*x) == DType::kBool) return Keep(windows);
  const OpKind op = OneOf<OpKind>({OpKind::kReduceSum, OpKind::kReduceMax, OpKind::kReduceMin});
  Keep(Append(op, {*windows}, {{"axes", last}}));
}

// Indices into a dim of `extent` entries: an input, or positions counted from either end.
std::optional<Value> GraphMaker::Indices(const DimExpr& extent) {
  const DType type = Percent(50) ? DType::kI32 : DType::kI64;
  if (Percent(65)) return Input(type, AnyShape(2));
  const auto forward = Append(OpKind::kIota, {}, {{"shape", Shape{extent}}, {"axis", int64_t{0}}, {"dtype", type}});
  if (!forward || Percent(40)) return forward;
  return Append(OpKind::kSub, {Scalar(type, -1), *forward});
}

void GraphMaker::AppendGather() {
  const auto x = Find([&](Value v) { return rank(v) > 0 && rank(v) < 4; });
  if (!x) return;
  const int64_t axis = Percent(60) ? 0 : Pick(rank(*x));
  const auto indices = Indices(shape(*x)[axis]);
  if (indices) Keep(Append(OpKind::kGather, {*x, *indices}, {{"axis", axis}}));
}

void GraphMaker::AppendIota() {
  Shape shape = {AnyDim()};
  if (Percent(50)) shape.push_back(AnyDim());
  const DType type = AnyDType();
  const int64_t axis = Pick(static_cast<int>(shape.size()));
  Keep(Append(OpKind::kIota, {}, {{"shape", shape}, {"axis", axis}, {"dtype", type}}));
}

void GraphMaker::AppendDot() {
  const auto at_hand = FindFloat(2);
  const Value x = at_hand && Percent(80) ? *at_hand : Input(DType::kF32, {AnyDim(), OneOf<int64_t>({3, 8, 17, 32})});
  const int64_t transpose_lhs = Percent(15), transpose_rhs = Percent(40);
  const DimExpr depth = shape(x)[rank(x) - (transpose_lhs != 0 ? 2 : 1)];
  const auto found = Find([&](Value v) {
    return rank(v) >= 2 && dtype(v) == dtype(x) && shape(v)[rank(v) - (transpose_rhs != 0 ? 1 : 2)] == depth;
  });
  Value y;
  if (depth.constant() && Percent(60)) {
    const DimExpr columns = OneOf<int64_t>({1, 5, 16, 40});
    y = Constant(dtype(x), transpose_rhs != 0 ? Shape{columns, depth} : Shape{depth, columns});
  } else if (found && Percent(60)) {
    y = *found;
  } else {
    Shape other = Percent(60) ? Shape{} : Shape(shape(x).begin(), shape(x).end() - 2);
    if (!other.empty() && Percent(25)) other[0] = Percent(50) ? DimExpr(1) : AnySymbol();
    const DimExpr columns = AnyDim();
    other.push_back(transpose_rhs != 0 ? columns : depth);
    other.push_back(transpose_rhs != 0 ? depth : columns);
    y = Input(dtype(x), std::move(other));
  }
  Keep(Append(OpKind::kDot, {x, y}, {{"transpose_lhs", transpose_lhs}, {"transpose_rhs", transpose_rhs}}));
}

}  // namespace tailor
