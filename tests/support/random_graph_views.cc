// Ops of GraphMaker that move elements: one function per op.
#include "tests/support/random_graph_maker.h"

namespace tailor {

void GraphMaker::AppendBroadcast() {
  const Value x = OneOf(values_);
  Shape to = shape(x);
  for (DimExpr& dim : to) {
    if (dim == DimExpr(1) || (Percent(5) && depth_ == 0 && !IsLate(dim))) dim = AnyDim();
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
  if (Percent(3) && !IsLate(x)) {
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
        size = DimExpr::Min(dim, 1 + Pick(5));
        break;
      case 2:
        size = DimExpr::Min(dim, 1 + Pick(5)), start = dim - size;
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
    if (IsLate(dim) && Percent(90)) {  // nothing that a dim size of 0 refuses
      size = DimExpr::Min(size, dim), step = 1;
      start = Percent(50) ? DimExpr(0) : dim - size;
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
    const int least = IsLate(shape(x)[d]) ? 0 : -1;
    low.push_back(!some ? DimExpr(0) : Percent(15) ? AnySymbol() : DimExpr(Pick(5) + least));
    high.push_back(!some || Percent(30) ? DimExpr(0) : Percent(15) ? DimExpr(1) - low[d] : DimExpr(Pick(5) + least));
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
    sizes.push_back(Percent(10) ? AnySymbol() : DimExpr(Percent(10) ? 7 + Pick(3) : 1 + Pick(4)));
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

// Indices into a dim of `dim size` entries: an input, or positions counted from either end.
std::optional<Value> GraphMaker::Indices(const DimExpr& dim_size) {
  const DType type = Percent(50) ? DType::kI32 : DType::kI64;
  if (Percent(65)) return IndexInput(type, AnyShape(2), dim_size);
  const auto forward = Append(OpKind::kIota, {}, {{"shape", Shape{dim_size}}, {"axis", int64_t{0}}, {"dtype", type}});
  if (!forward || Percent(40)) return forward;
  return Append(OpKind::kSub, {Scalar(type, -1), *forward});
}

// An embedding, and sometimes its table as the weights of a matmul.
void GraphMaker::AppendEmbedding() {
  const DimExpr entries = OneOf<int64_t>({3, 17, 40}), width = OneOf<int64_t>({4, 16, 21});
  const Value table = Constant(DType::kF32, {entries, width});
  const auto rows = Append(OpKind::kGather, {table, IndexInput(DType::kI64, AnyShape(2), entries)});
  Keep(rows);
  if (rank(*rows) > 1 && Percent(50)) Keep(Append(OpKind::kDot, {*rows, table}, {{"transpose_rhs", int64_t{1}}}));
}

void GraphMaker::AppendGather() {
  if (Percent(20)) return AppendEmbedding();
  const auto x = Find([&](Value v) { return rank(v) > 0 && rank(v) < 4; });
  if (!x) return;
  const int64_t axis = Percent(60) ? 0 : Pick(rank(*x));
  const auto indices = Indices(shape(*x)[axis]);
  if (indices) Keep(Append(OpKind::kGather, {*x, *indices}, {{"axis", axis}}));
}

// Rows of a transposed and reshaped tensor, as of heads or patches, that are reduced, and read in their own order or in
// another one, as where tokens are shifted.
void GraphMaker::AppendRowsOfView() {
  const int heads = 1 + Pick(4), columns = 1 + Pick(6), size = heads * columns;
  const DimExpr rows = Percent(30) ? DimExpr(size) : AnySymbol();
  const Value x = Input(DType::kF32, {AnySymbol(), heads, rows, columns});
  const Value apart = *Append(OpKind::kTranspose, {x}, {{"permutation", std::vector<int64_t>{0, 2, 1, 3}}});
  const Value view = *Append(OpKind::kReshape, {apart}, {{"shape", Shape{shape(x)[0], rows, size}}});
  std::vector<int64_t> axes = {2};
  if (Percent(30)) axes = {1, 2};
  const OpKind op = OneOf<OpKind>({OpKind::kReduceMax, OpKind::kReduceMean, OpKind::kReduceSum});
  const Value reduced = *Append(op, {view}, {{"axes", axes}, {"keep_dims", int64_t{1}}});
  Value other = view;
  const int order = Pick(4);
  if (order == 1) {
    other = *Append(OpKind::kPad, {view, Scalar(DType::kF32, 0)}, {{"low", Shape{0, 0, 1}}, {"high", Shape{0, 0, -1}}});
  } else if (order == 2) {
    const Value last =
        *Append(OpKind::kSlice, {view}, {{"starts", Shape{0, 0, size - 1}}, {"sizes", Shape{shape(x)[0], rows, 1}}});
    const Value rest =
        *Append(OpKind::kSlice, {view}, {{"starts", Shape{0, 0, 0}}, {"sizes", Shape{shape(x)[0], rows, size - 1}}});
    other = *Append(OpKind::kConcat, {last, rest}, {{"axis", int64_t{2}}});
  } else if (order == 3 && rows == DimExpr(size)) {
    const Value negative = *Append(OpKind::kNeg, {view});
    other = *Append(OpKind::kTranspose, {negative}, {{"permutation", std::vector<int64_t>{0, 2, 1}}});
  }
  Keep(Append(OpKind::kSub, {other, reduced}));
}

void GraphMaker::AppendScatter() {
  const auto x = Find([&](Value v) { return rank(v) < 4; });
  if (!x) return;
  const int depth = Pick(rank(*x) + 1);
  Shape updates = AnyShape(2), indices = updates;
  indices.push_back(depth);
  updates.insert(updates.end(), shape(*x).begin() + depth, shape(*x).end());
  if (updates.size() > 5) return;
  DimExpr least = depth == 0 ? DimExpr(1) : shape(*x)[0];
  for (int d = 1; d < depth; ++d) least = DimExpr::Min(least, shape(*x)[d]);
  const Value at = IndexInput(Percent(50) ? DType::kI32 : DType::kI64, std::move(indices), least);
  const std::string combiner =
      dtype(*x) == DType::kBool || Percent(30) ? "set" : OneOf<std::string>({"add", "mul", "max", "min"});
  Keep(Append(OpKind::kScatter, {*x, at, Input(dtype(*x), std::move(updates))}, {{"combiner", combiner}}));
}

void GraphMaker::AppendIota() {
  Shape shape = {AnyDim()};
  if (Percent(50)) shape.push_back(AnyDim());
  const DType type = AnyDType();
  const int64_t axis = Pick(static_cast<int>(shape.size()));
  Keep(Append(OpKind::kIota, {}, {{"shape", shape}, {"axis", axis}, {"dtype", type}}));
}

}  // namespace tailor
