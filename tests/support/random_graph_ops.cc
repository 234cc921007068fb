// Ops of GraphMaker that compute: one function per op or family of ops.
#include "graph/builders.h"
#include "graph/convolution.h"
#include "tests/support/random_graph_maker.h"

namespace tailor {
// Operands are mostly brought to where the function is tame: what grows beyond bounds compares as unknown.
void GraphMaker::AppendUnary() {
  const auto x = Percent(85) ? FindFloat(0) : Find([&](Value v) { return dtype(v) != DType::kBool; });
  if (!x) return;
  const OpKind op =
      OneOf<OpKind>({OpKind::kNeg, OpKind::kAbs, OpKind::kExp, OpKind::kLog, OpKind::kTanh, OpKind::kErf, OpKind::kSqrt,
                     OpKind::kRsqrt, OpKind::kSigmoid, OpKind::kFloor, OpKind::kCeil, OpKind::kRound, OpKind::kTrunc,
                     OpKind::kSin, OpKind::kCos, OpKind::kTan, OpKind::kAsin, OpKind::kAcos, OpKind::kAtan});
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
  const OpKind op = OneOf<OpKind>({OpKind::kEq, OpKind::kNe, OpKind::kLt, OpKind::kLe, OpKind::kGt, OpKind::kGe});
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

void GraphMaker::AppendCast() { Keep(Append(OpKind::kCast, {OneOf(values_)}, {{"dtype", AnyDType()}})); }

void GraphMaker::AppendBitcast() {
  const Value x = OneOf(values_);
  DType to = AnyDType();
  while (SizeOf(to) != SizeOf(dtype(x))) to = AnyDType();
  Keep(Append(OpKind::kBitcast, {x}, {{"dtype", to}}));
}

void GraphMaker::AppendReduce() {
  const auto x = Find([&](Value v) { return dtype(v) != DType::kBool && rank(v) > 0; });
  if (!x) return;
  std::vector<int64_t> axes;
  for (int d = 0; d < rank(*x); ++d) {
    if (Percent(d == rank(*x) - 1 ? 65 : 30)) axes.push_back(d);
  }
  if (axes.empty() && !Percent(10)) axes.push_back(-1);
  const OpKind op = OneOf<OpKind>(
      {OpKind::kReduceSum, OpKind::kReduceMax, OpKind::kReduceMin, OpKind::kReduceMean, OpKind::kReduceProd});
  const auto y = Append(op, {*x}, {{"axes", axes}, {"keep_dims", int64_t{Percent(50)}}});
  Keep(y);
  if (!y || !Percent(50) || (IsLate(*x) && rank(*y) < rank(*x))) return;
  Keep(Append(OneOf<OpKind>({OpKind::kSub, OpKind::kMul, OpKind::kAdd}), {*x, *y}));  // where the shapes let it
}

void GraphMaker::AppendScan() {
  const auto x = Find([&](Value v) { return dtype(v) != DType::kBool && rank(v) > 0; });
  if (!x) return;
  Keep(Append(OpKind::kScan, {*x},
              {{"axis", int64_t{Percent(50) ? rank(*x) - 1 : Pick(rank(*x))}},
               {"combiner", OneOf<std::string>({"add", "add", "mul", "max", "min"})},
               {"reverse", int64_t{Percent(35)}},
               {"exclusive", int64_t{Percent(35)}}}));
}

void GraphMaker::AppendCompound() {
  const auto x = FindFloat(1);
  if (!x) return;
  const int64_t axis = Percent(70) ? rank(*x) - 1 : Pick(rank(*x));
  switch (Pick(7)) {
    case 0:
    case 1:
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
  const DType dtype = OneOf<DType>({DType::kF32, DType::kF32, DType::kF16, DType::kBF16});
  Shape batch = AnyShape(2);
  const int64_t heads = 1 + Pick(2), repeats = Percent(40) ? 1 + Pick(3) : 0;  // 0: no heads of their own
  const auto shape_of = [&](Shape shape, const DimExpr& rows, const DimExpr& columns) {
    shape.insert(shape.end(), {rows, columns});
    return shape;
  };
  const auto with = [&](const Shape& dims, std::initializer_list<DimExpr> more) {
    Shape all = dims;
    all.insert(all.end(), more);
    return all;
  };
  auto matrix = [&](const DimExpr& rows, const DimExpr& columns) {
    const Shape own = repeats == 0 ? batch : with(batch, {heads * repeats});
    return Input(dtype, shape_of(own, rows, columns));
  };
  // Each head of keys or values serves several of queries.
  auto shared = [&](const DimExpr& rows, const DimExpr& columns) {
    if (repeats == 0) return matrix(rows, columns);
    const Value few = Input(dtype, shape_of(with(batch, {heads}), rows, columns));
    const Value apart = *Append(OpKind::kReshape, {few}, {{"shape", shape_of(with(batch, {heads, 1}), rows, columns)}});
    const Value all =
        *Append(OpKind::kBroadcast, {apart}, {{"shape", shape_of(with(batch, {heads, repeats}), rows, columns)}});
    return *Append(OpKind::kReshape, {all}, {{"shape", shape_of(with(batch, {heads * repeats}), rows, columns)}});
  };
  const DimExpr m = AnyDim(), n = AnyDim(), depth = Percent(70) ? DimExpr(OneOf<int64_t>({8, 20})) : AnySymbol();
  Value query = matrix(m, depth), key = shared(n, depth);
  if (Percent(30)) {  // the factors of a scale, as exporters have them
    query = *Append(OpKind::kMul, {query, Scalar(dtype, 0.75)});
    key = *Append(OpKind::kMul, {Scalar(dtype, 0.75), key});
  }
  const Value value = shared(n, Percent(70) ? DimExpr(OneOf<int64_t>({8, 17})) : AnyDim());
  const Value mask = Percent(50) ? Input(dtype, {Percent(50) ? DimExpr(1) : m, n}) : Value{};
  Keep(Attention(graph_, query, key, value, mask, 0.5));
}

void GraphMaker::AppendHeads() {
  const int64_t heads = OneOf<int64_t>({1, 2, 3}), depth = OneOf<int64_t>({4, 8, 16}), width = heads * depth;
  const DType dtype = OneOf<DType>({DType::kF32, DType::kF32, DType::kF16, DType::kBF16});
  const DimExpr batch = AnySymbol(), length = AnySymbol();
  const Value x = Input(dtype, {batch, length, width});
  auto project = [&] {
    const Value y =
        *Append(OpKind::kDot, {x, Constant(dtype, {width, width})}, {{"transpose_rhs", int64_t{Percent(50)}}});
    const Value biased = *Append(OpKind::kAdd, {y, Constant(dtype, {width})});
    const Value split = *Append(OpKind::kReshape, {biased}, {{"shape", Shape{batch, length, heads, depth}}});
    return *Append(OpKind::kTranspose, {split}, {{"permutation", std::vector<int64_t>{0, 2, 1, 3}}});
  };
  const Value query = project(), key = project(), value = Percent(50) ? key : project();
  const Value mask = Percent(50) ? Input(dtype, {batch, 1, 1, length}) : Value{};
  const auto attended = Attention(graph_, query, key, value, mask, 0.5);
  if (!attended.ok()) return;
  const Value back = *Append(OpKind::kTranspose, {*attended}, {{"permutation", std::vector<int64_t>{0, 2, 1, 3}}});
  Keep(Append(OpKind::kReshape, {back}, {{"shape", Shape{batch, length, width}}}));
}

void GraphMaker::AppendDot() {
  const auto at_hand = Percent(80) ? FindFloat(2) : Find([&](Value v) {
    return rank(v) >= 2 &&
           (dtype(v) == DType::kI16 || dtype(v) == DType::kU8 || (IsInteger(dtype(v)) && SizeOf(dtype(v)) >= 4));
  });
  const Value x = at_hand && Percent(80) ? *at_hand : Input(DType::kF32, {AnyDim(), OneOf<int64_t>({3, 8, 17, 32})});
  const int64_t transpose_lhs = Percent(15), transpose_rhs = Percent(40);
  const DimExpr depth = shape(x)[rank(x) - (transpose_lhs != 0 ? 2 : 1)];
  const DType of_rhs = dtype(x) == DType::kU8 ? DType::kI8 : dtype(x);
  const auto found = Find([&](Value v) {
    return rank(v) >= 2 && dtype(v) == of_rhs && shape(v)[rank(v) - (transpose_rhs != 0 ? 1 : 2)] == depth;
  });
  Value y;
  if (depth.constant() && Percent(60)) {
    const DimExpr columns = OneOf<int64_t>({1, 5, 16, 40});
    y = Constant(of_rhs, transpose_rhs != 0 ? Shape{columns, depth} : Shape{depth, columns});
  } else if (found && Percent(60)) {
    y = *found;
  } else {
    Shape other = Percent(60) ? Shape{} : Shape(shape(x).begin(), shape(x).end() - 2);
    if (!other.empty() && Percent(25)) other[0] = Percent(50) || IsLate(x) ? DimExpr(1) : AnySymbol();
    const DimExpr columns = AnyDim();
    other.push_back(transpose_rhs != 0 ? columns : depth);
    other.push_back(transpose_rhs != 0 ? depth : columns);
    y = Input(of_rhs, std::move(other));
  }
  Keep(Append(OpKind::kDot, {x, y}, {{"transpose_lhs", transpose_lhs}, {"transpose_rhs", transpose_rhs}}));
}

// What follows a matmul in models: a bias, a scale, an activation, several of these, or nothing.
void GraphMaker::AppendAfterMatmul(Value matmul) {
  const Shape columns = {shape(matmul).back()};
  Value y = matmul;
  for (int i = Pick(3); i > 0; --i) {
    std::optional<Value> next;
    switch (Pick(5)) {
      case 0:
      case 1:
        next = Append(Percent(85) ? OpKind::kAdd : OpKind::kSub, {y, Constant(dtype(y), columns)});
        break;
      case 2:
        next = Append(OpKind::kMul, {y, Scalar(dtype(y), 0.5)});
        break;
      case 3:
        next = Append(OpKind::kMax, {y, Scalar(dtype(y), 0)});
        break;
      default:
        next = Append(OneOf<OpKind>({OpKind::kTanh, OpKind::kSigmoid, OpKind::kNeg, OpKind::kErf, OpKind::kAbs}), {y});
    }
    if (next) y = *next;
  }
  if (Percent(25)) {
    if (auto reduced = Append(OpKind::kReduceMax, {y}, {{"axes", std::vector<int64_t>{-1}}, {"keep_dims", int64_t{1}}}))
      y = *reduced;
  }
  Keep(std::optional<Value>(y));
}

// Projections and heads: one value times several constants.
void GraphMaker::AppendProductsOfOne() {
  const auto at_hand =
      Find([&](Value v) { return IsFloat(dtype(v)) && rank(v) >= 2 && shape(v).back().constant().value_or(0) > 0; });
  const Value x = at_hand && Percent(75) ? *at_hand : Input(DType::kF32, {AnySymbol(), OneOf<int64_t>({3, 8, 16})});
  const DimExpr depth = shape(x).back();
  if (*depth.constant() > 64) return;
  const int64_t transposed = Percent(35);
  const bool projections = Percent(40);  // no activations: some with a bias, all read by what comes next
  for (int i = OneOf<int>({1, 1, 1, 2, 2, 3, 4}); i > 0; --i) {
    const DimExpr columns = OneOf<int64_t>({1, 5, 8, 16});
    const Value weights = Constant(dtype(x), transposed != 0 ? Shape{columns, depth} : Shape{depth, columns});
    const auto matmul = Append(OpKind::kDot, {x, weights}, {{"transpose_rhs", transposed}});
    if (!matmul) return;
    if (!projections) {
      AppendAfterMatmul(*matmul);
      continue;
    }
    const auto biased =
        Percent(65) ? Append(OpKind::kAdd, {*matmul, Constant(dtype(x), {columns})}) : std::optional<Value>(*matmul);
    Keep(Append(OpKind::kReduceMax, {*biased}, {{"axes", std::vector<int64_t>{-1}}, {"keep_dims", int64_t{1}}}));
  }
}

// Few rows and columns of many matmuls each.
void GraphMaker::AppendLongMatmul() {
  if (depth_ > 0 || Percent(50)) return;
  const DimExpr depth = 8192;
  const Value x = Input(DType::kF32, {OneOf<int64_t>({1, 3}), depth});
  Keep(Append(OpKind::kDot, {x, Constant(DType::kF32, {depth, OneOf<int64_t>({1, 2})})}));
}

// A convolution along a sequence, as in speech models: channels are last before it, and often after it.
void GraphMaker::AppendSequenceConv() {
  const auto is_sequence = [&](Value v) {
    const int64_t channels = rank(v) == 3 ? shape(v)[2].constant().value_or(0) : 0;
    return (dtype(v) == DType::kF32 || dtype(v) == DType::kF16) && channels > 0 && channels <= 64;
  };
  const auto at_hand = Find(is_sequence);
  const DimExpr channels = OneOf<int64_t>({3, 16, 24});
  const Value x = at_hand && Percent(70) ? *at_hand : Input(DType::kF32, {AnySymbol(), AnySymbol(), channels});
  const auto swap = [&](Value v) {
    return *Append(OpKind::kTranspose, {v}, {{"permutation", std::vector<int64_t>{0, 2, 1}}});
  };
  const Shape of_x = shape(x);
  Value y = swap(x);
  for (int i = Pick(3); i > 0; --i) {
    std::optional<Value> next;
    if (const int choice = Pick(4); choice == 0) {
      next = Append(OpKind::kMul, {y, Input(dtype(y), {of_x[0], 1, of_x[1]})});  // a mask
    } else if (choice == 1) {
      next = Append(OpKind::kAdd, {y, Constant(dtype(y), {1, of_x[2], 1})});
    } else if (choice == 2) {
      next = Append(OneOf<OpKind>({OpKind::kTanh, OpKind::kErf, OpKind::kNeg}), {y});
    } else {
      next = Append(OpKind::kMax, {y, Scalar(dtype(y), 0)});
    }
    if (next) y = *next;
    if (Percent(10)) Keep(std::optional<Value>(y));
  }
  for (int i = 1 + Pick(2); i > 0; --i) {
    const Shape weights = {OneOf<int64_t>({5, 16}), shape(y)[1], OneOf<int64_t>({1, 2, 3})};
    const int64_t around = Pick(2);
    const Windows windows{.strides = {1 + Pick(2)}, .dilations = {1 + Pick(2)}, .low = {around}, .high = {around}};
    const auto result = Conv(graph_, y, Constant(dtype(y), weights), {}, windows, 1);
    if (!result.ok()) return;
    y = *result;
    if (Percent(50)) y = *Append(OpKind::kMax, {y, Scalar(dtype(y), 0)});
  }
  Keep(std::optional<Value>(Percent(60) ? swap(y) : y));
}

// Layers of a network on images, as front ends give them: channels first.
void GraphMaker::AppendImageLayers() {
  const auto is_image = [&](Value v) {
    const int64_t channels = rank(v) == 4 ? shape(v)[1].constant().value_or(0) : 0;
    return dtype(v) == DType::kF32 && channels > 0 && channels <= 32;
  };
  const auto at_hand = Find(is_image);
  const DimExpr channels = OneOf<int64_t>({3, 16, 20, 32});
  const Shape of_input = {AnySymbol(), channels, AnySymbol(), AnySymbol()};
  Value y = at_hand && Percent(50) ? *at_hand : Input(DType::kF32, of_input);
  std::vector<Value> before;  // for shortcuts
  for (int i = 2 + Pick(4); i > 0; --i) {
    const int64_t inputs = *shape(y)[1].constant(), size = 1 + Pick(3), around = Pick(2), stride = 1 + Pick(2);
    const Windows windows{.strides = {stride, stride}, .dilations = {}, .low = {around, around}, .high = {around, 0}};
    const auto convolved = [&](int64_t results, const Shape& sizes, const Windows& around, int64_t groups) {
      const Value weights = Constant(DType::kF32, {results, inputs / groups, sizes[0], sizes[1]});
      const Value bias = Percent(60) ? Constant(DType::kF32, {results}) : Value{-1, 0};
      return Conv(graph_, y, weights, bias, around, groups);
    };
    const auto apply = [&](OpKind op, std::initializer_list<Value> operands) -> absl::StatusOr<Value> {
      const auto value = Append(op, operands);
      return value ? absl::StatusOr<Value>(*value) : absl::InvalidArgumentError("");
    };
    const auto layer = [&]() -> absl::StatusOr<Value> {
      switch (Pick(9)) {
        case 0:
          return convolved(OneOf<int64_t>({16, 16, 20, 32, 5}), {1, 1}, {}, 1);
        case 2:
          return convolved(OneOf<int64_t>({16, 20}), {size, 3}, windows, 1);
        case 3:
          return convolved(inputs, {3, OneOf<int64_t>({3, 5})}, windows, inputs);
        case 4:
          if (Percent(50)) return MaxPool(graph_, y, {2, size}, windows);
          return AveragePool(graph_, y, {3, size}, windows, /*count_include_pad=*/Percent(50));
        case 5:
          return apply(OpKind::kMul,
                       {y, Constant(DType::kF32, Percent(50) ? Shape{inputs, 1, 1} : Shape{1, inputs, 1, 1})});
        case 6: {  // squeeze and excite
          const auto mean = Append(OpKind::kReduceMean, {y}, {{"axes", std::vector<int64_t>{2, 3}}});
          if (!mean) return absl::InvalidArgumentError("");
          const auto gate = Append(OpKind::kReshape, {*mean}, {{"shape", Shape{shape(y)[0], inputs, 1, 1}}});
          return apply(OpKind::kMul, {y, *Append(OpKind::kSigmoid, {*gate})});
        }
        default: {  // a shortcut
          for (Value other : before) {
            if (Percent(60) && shape(other) == shape(y)) return apply(OpKind::kAdd, {y, other});
          }
          const auto beside = convolved(inputs, {1, 1}, {}, 1);
          return beside.ok() ? apply(OpKind::kAdd, {y, *beside}) : beside;
        }
      }
    }();
    if (!layer.ok()) return;
    before.push_back(y);
    y = *layer;
    if (Percent(50)) y = *Append(OpKind::kMax, {y, Scalar(DType::kF32, 0)});
    if (Percent(8)) Keep(std::optional<Value>(y));
    if (Percent(20)) Keep(Append(OpKind::kReduceMean, {y}, {{"axes", std::vector<int64_t>{2, 3}}}));
  }
  for (const OpKind op : {OpKind::kReduceMean, OpKind::kReduceMax}) {
    if (Percent(50)) Keep(Append(op, {y}, {{"axes", std::vector<int64_t>{2, 3}}}));
  }
  if (Percent(40)) {
    Keep(Append(OpKind::kTranspose, {y}, {{"permutation", std::vector<int64_t>{0, 2, 3, 1}}}));
  } else if (Percent(40)) {
    Keep(std::optional<Value>(y));
  }
}

// A tensor that is quantized and dequantized once or several times, as quantizers write around every op; in between
// it may be moved.
void GraphMaker::AppendQuantized() {
  const auto at_hand = Find([&](Value v) { return dtype(v) == DType::kF32; });
  Value x = at_hand && Percent(70) ? *at_hand : Input(DType::kF32, AnyShape(3));
  const DType type = OneOf<DType>({DType::kI8, DType::kI8, DType::kU8, DType::kI16});
  double scale = OneOf<double>({0.03, 0.11, 0.25}), zero = OneOf<double>({0, 3, 100, 1 << 25});
  for (int i = 1 + Pick(3); i > 0; --i) {
    if (Percent(20)) scale = 0.07;
    if (Percent(10)) zero = 5;
    Value y = *Append(OpKind::kRound, {*Append(OpKind::kDiv, {x, Scalar(DType::kF32, scale)})});
    if (zero != 0) y = *Append(OpKind::kAdd, {y, Scalar(DType::kF32, zero)});
    y = *Append(OpKind::kCast, {y}, {{"dtype", type}});
    if (Percent(10)) Keep(std::optional<Value>(y));
    y = *Append(OpKind::kCast, {y}, {{"dtype", DType::kI32}});
    if (zero != 0) y = *Append(OpKind::kSub, {y, Scalar(DType::kI32, zero)});
    y = *Append(OpKind::kCast, {y}, {{"dtype", DType::kF32}});
    x = *Append(OpKind::kMul, {y, Scalar(DType::kF32, scale)});
    if (rank(x) > 1 && Percent(40)) {
      std::vector<int64_t> permutation(rank(x));
      for (int d = 0; d < rank(x); ++d) permutation[d] = rank(x) - 1 - d;
      x = *Append(OpKind::kTranspose, {x}, {{"permutation", permutation}});
    }
  }
  Keep(std::optional<Value>(x));
}

}  // namespace tailor
