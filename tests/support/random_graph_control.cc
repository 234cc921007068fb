// Ops of GraphMaker that have regions, or that bind a symbol during a run.
#include "absl/strings/str_cat.h"
#include "graph/scalar_values.h"
#include "tests/support/random_graph_maker.h"
#include "tests/support/reference_symbols.h"

namespace tailor {

// What a region calls its arguments' dim sizes.
struct GraphMaker::Signature {
  std::vector<SymbolInfo> symbols;
  std::vector<TensorType> arguments;
  // By symbol: what it is in the graph around, where it is the whole dim size of an argument.
  std::vector<std::optional<DimExpr>> outer;

  // What the dim size of a region's result is in the graph around, if that can be told.
  std::optional<DimExpr> OuterOf(const DimExpr& dim) const {
    for (SymbolId id : dim.Symbols()) {
      if (id >= static_cast<SymbolId>(outer.size()) || !outer[id]) return std::nullopt;
    }
    return dim.Substitute([&](SymbolId id) { return *outer[id]; });
  }
};

void GraphMaker::AppendControl() {
  switch (Pick(3)) {
    case 0:
      return AppendWhile();
    case 1:
      return AppendIf();
    default:
      return AppendBind();
  }
}

DimExpr GraphMaker::NewSymbol(SymbolInfo info) {
  info.name = absl::StrCat("R", graph_.symbols().size());
  return DimExpr::Symbol(*graph_.AddSymbol(std::move(info)));
}

// Equal dim sizes share a symbol, but for those of operands that want symbols of their `own`.
GraphMaker::Signature GraphMaker::SignatureFor(const std::vector<Value>& operands, const std::vector<bool>& own) {
  static constexpr const char* kNames[] = {"N", "M", "T", "S", "B"};  // mostly those of others outside
  Signature signature;
  std::vector<std::pair<DimExpr, DimExpr>> inner;  // of a dim size outside
  const auto find = [&](const DimExpr& dim) {
    return std::find_if(inner.begin(), inner.end(), [&](const auto& entry) { return entry.first == dim; });
  };
  const auto new_symbol = [&](const DimExpr& dim) {
    const size_t id = signature.symbols.size();
    SymbolInfo info;
    if (dim.symbol() && Percent(30)) info = graph_.symbol(*dim.symbol());
    info.name = id < std::size(kNames) ? kNames[id] : absl::StrCat("D", id);
    signature.symbols.push_back(std::move(info));
    signature.outer.emplace_back();
    return DimExpr::Symbol(static_cast<SymbolId>(id));
  };
  const auto inner_of = [&](const DimExpr& dim) -> DimExpr {
    if (const auto it = find(dim); it != inner.end()) return it->second;
    const auto linear = reference::AsLinear(dim);
    if (linear && !dim.symbol() && Percent(50)) {
      const DimExpr symbol = DimExpr::Symbol(linear->symbol);
      if (find(symbol) == inner.end()) inner.emplace_back(symbol, new_symbol(symbol));
      inner.emplace_back(dim, DimExpr(linear->coefficient) * find(symbol)->second + linear->offset);
    } else {
      inner.emplace_back(dim, new_symbol(dim));
    }
    return inner.back().second;
  };
  for (size_t i = 0; i < operands.size(); ++i) {
    TensorType argument{dtype(operands[i]), {}};
    for (const DimExpr& dim : shape(operands[i])) {
      const bool fixed = dim.constant() && !own[i] && Percent(80);
      const DimExpr renamed = fixed ? dim : own[i] || dim.constant() ? new_symbol(dim) : inner_of(dim);
      if (renamed.symbol()) signature.outer[*renamed.symbol()] = dim;
      argument.shape.push_back(renamed);
    }
    signature.arguments.push_back(std::move(argument));
  }
  return signature;
}

GraphMaker GraphMaker::RegionMaker(const Signature& signature) {
  GraphMaker maker(random_(), options_);
  maker.graph_ = Graph("region");
  maker.depth_ = depth_ + 1;
  for (const SymbolInfo& symbol : signature.symbols) (void)maker.graph_.AddSymbol(symbol);
  maker.input_symbols_ = static_cast<int>(signature.symbols.size());
  for (const TensorType& type : signature.arguments) {
    const std::string name = absl::StrCat("a", maker.values_.size());
    maker.values_.push_back(*maker.graph_.AddInput(name, type.dtype, type.shape));
  }
  if (maker.values_.empty()) {
    maker.Keep(maker.Append(OpKind::kBroadcast, {maker.Scalar(DType::kF32, 1)}, {{"shape", Shape{2, 3}}}));
  }
  return maker;
}

Region GraphMaker::RegionReturning(std::vector<Value> results) {
  for (size_t r = 0; r < results.size(); ++r) (void)graph_.AddOutput(absl::StrCat("y", r), results[r]);
  return {std::make_shared<const Graph>(std::move(graph_))};
}

// The dim size as an i64 scalar, which the host knows or does not.
Value GraphMaker::DimSizeOf(const DimExpr& dim) {
  if (dim.constant()) return Scalar(DType::kI64, static_cast<double>(*dim.constant()));
  if (Percent(50)) return *DimSizeValue(graph_, dim);
  const Value ones = *Append(OpKind::kBroadcast, {Scalar(DType::kI64, 1)}, {{"shape", Shape{dim}}});
  return *Append(OpKind::kReduceSum, {ones}, {{"axes", std::vector<int64_t>{0}}});
}

// How many elements of a tensor are above something. The tensor is one of which the reference knows all, mostly.
std::optional<Value> GraphMaker::ExactCount() {
  const auto x = Find([&](Value v) { return graph_.node(v.node).op == OpKind::kInput && dtype(v) != DType::kBool; });
  if (!x) return std::nullopt;
  const Value bound = Scalar(dtype(*x), IsFloat(dtype(*x)) ? 0.25 * (Pick(5) - 2) : Pick(3));
  const auto above = Append(OneOf<OpKind>({OpKind::kGt, OpKind::kLe, OpKind::kNe}), {*x, bound});
  const auto ones = Append(OpKind::kCast, {*above}, {{"dtype", DType::kI64}});
  std::vector<int64_t> axes;
  for (int d = 0; d < rank(*x); ++d) axes.push_back(d);
  return Append(OpKind::kReduceSum, {*ones}, {{"axes", axes}});
}

// From 0 to 3.
Value GraphMaker::SmallCount() {
  const auto count = Percent(50) ? ExactCount() : std::nullopt;
  if (!count && Percent(40)) return Scalar(DType::kI64, Pick(4));
  return *Append(OpKind::kMin, {count ? *count : DimSizeOf(AnySymbol()), Scalar(DType::kI64, 1 + Pick(3))});
}

Value GraphMaker::Decision() {
  if (depth_ == 0 && Percent(30)) return Input(DType::kBool, {});
  if (Percent(5)) return Scalar(DType::kBool, Pick(2));
  const auto count = ExactCount();
  const Value bound = Scalar(DType::kI64, Pick(4));
  return *Append(OneOf<OpKind>({OpKind::kGt, OpKind::kEq}), {count ? *count : DimSizeOf(AnySymbol()), bound});
}

// A value of the argument's type.
Value GraphMaker::Changed(Value argument) {
  const auto other = Find([&](Value v) { return v != argument && graph_.type(v) == graph_.type(argument); });
  const Value x = other ? *other : argument;
  if (other && Percent(40)) return x;
  if (dtype(x) == DType::kBool) return *Append(OpKind::kNot, {x});
  if (IsFloat(dtype(x)) && Percent(60)) return *Append(OpKind::kTanh, {x});
  return *Append(OpKind::kAdd, {x, Scalar(dtype(x), 1)});
}

// A value of the argument's element type and rank, of other dim sizes.
Value GraphMaker::Resized(Value argument) {
  if (Percent(20)) {
    return *Find([&](Value v) { return dtype(v) == dtype(argument) && rank(v) == rank(argument); });
  }
  const int64_t axis = Pick(rank(argument));
  const DimExpr dim_size = shape(argument)[axis];
  const auto part = [&](const DimExpr& start, const DimExpr& size) {
    Shape starts(rank(argument), DimExpr(0)), sizes = shape(argument);
    starts[axis] = start;
    sizes[axis] = size;
    return *Append(OpKind::kSlice, {argument}, {{"starts", starts}, {"sizes", sizes}});
  };
  const DimExpr less = DimExpr::Max(dim_size - 1, 0);
  switch (Pick(4)) {
    case 0:
      return *Append(OpKind::kConcat, {argument, Changed(argument)}, {{"axis", axis}});
    case 1:
      return *Append(OpKind::kConcat, {part(0, DimExpr::Min(dim_size, 1)), argument}, {{"axis", axis}});
    case 2:
      return part(0, less);
    default:
      return part(dim_size - less, less);
  }
}

// The argument with its row at `row` replaced or added to.
Value GraphMaker::WithRow(Value argument, Value row) {
  const bool listed = Percent(50);
  Shape indices = {1}, updates(shape(argument).begin() + 1, shape(argument).end());
  if (listed) {
    indices.insert(indices.begin(), DimExpr(1));
    updates.insert(updates.begin(), DimExpr(1));
  }
  const auto found = Find([&](Value v) { return dtype(v) == dtype(argument) && shape(v) == updates; });
  Value update = found && Percent(60) ? *found : Filled(dtype(argument), updates);
  if (Percent(40)) {  // what is read is what is written
    const Value at = *Append(OpKind::kReshape, {row}, {{"shape", listed ? Shape{1} : Shape{}}});
    update = Changed(*Append(OpKind::kGather, {argument, at}, {{"axis", int64_t{0}}}));
  }
  const Value at = *Append(OpKind::kReshape, {row}, {{"shape", indices}});
  const bool combines = dtype(argument) != DType::kBool && Percent(30);
  const std::string combiner = combines ? OneOf<std::string>({"add", "max"}) : "set";
  const Value changed = *Append(OpKind::kScatter, {argument, at, update}, {{"combiner", combiner}});
  values_.push_back(changed);
  return changed;
}

// Carries a counter, sometimes its limit, and tensors that stay, change, grow or shrink, or get a row each time.
void GraphMaker::AppendWhile() {
  enum class Fate { kStays, kChanges, kResizes, kGetsRows };
  std::vector<Value> states;
  std::vector<Fate> fates;
  Value limit = SmallCount();
  for (int i = 1 + Pick(3); i > 0; --i) {
    const Value x = OneOf(values_);
    Fate fate = OneOf<Fate>({Fate::kStays, Fate::kChanges, Fate::kChanges, Fate::kResizes, Fate::kGetsRows});
    if (rank(x) == 0 && fate != Fate::kStays) fate = Fate::kChanges;
    if (fate == Fate::kGetsRows) limit = *Append(OpKind::kMin, {limit, DimSizeOf(shape(x)[0])});
    states.push_back(x);
    fates.push_back(fate);
  }
  const bool down = Percent(40);
  std::vector<Value> carried = {limit};
  if (!down) carried.insert(carried.begin(), Scalar(DType::kI64, 0));
  const size_t first = carried.size();
  carried.insert(carried.end(), states.begin(), states.end());
  std::vector<bool> own(first, false);
  for (Fate fate : fates) own.push_back(fate == Fate::kResizes);
  const Signature signature = SignatureFor(carried, own);

  GraphMaker condition = RegionMaker(signature);
  const Value counted = condition.values_[0], end = down ? condition.Scalar(DType::kI64, 0) : condition.values_[1];
  Value goes = *condition.Append(down ? OpKind::kGt : OpKind::kLt, {counted, end});
  if (Percent(25)) goes = *condition.Append(OpKind::kAnd, {goes, condition.Decision()});  // ends early

  GraphMaker body = RegionMaker(signature);
  const std::vector<Value> arguments = body.values_;
  for (int ops = Pick(4); ops > 0; --ops) body.AppendAny();
  const Value one = body.Scalar(DType::kI64, 1);
  const Value next = *body.Append(down ? OpKind::kSub : OpKind::kAdd, {arguments[0], one});
  const Value row = !down ? arguments[0] : Percent(50) ? next : *body.Append(OpKind::kNeg, {arguments[0]});
  std::vector<Value> results = {next};
  if (!down) results.push_back(arguments[1]);
  for (size_t i = 0; i < fates.size(); ++i) {
    const Value argument = arguments[first + i];
    results.push_back(fates[i] == Fate::kStays     ? argument
                      : fates[i] == Fate::kChanges ? body.Changed(argument)
                      : fates[i] == Fate::kResizes ? body.Resized(argument)
                                                   : body.WithRow(argument, row));
  }
  std::vector<std::optional<DimExpr>> dim_sizes;
  for (size_t i = 0; i < results.size(); ++i) {
    for (int d = 0; d < rank(carried[i]); ++d) {
      const bool kept = body.shape(arguments[i])[d] == body.shape(results[i])[d];
      dim_sizes.push_back(kept ? std::optional(shape(carried[i])[d]) : std::nullopt);
    }
  }
  AppendRegions(OpKind::kWhile, carried, {condition.RegionReturning({goes}), body.RegionReturning(results)}, dim_sizes);
}

void GraphMaker::AppendIf() {
  std::vector<Value> captured;
  for (int i = Percent(5) ? 0 : 1 + Pick(3); i > 0; --i) captured.push_back(OneOf(values_));
  const Signature signature = SignatureFor(captured, std::vector<bool>(captured.size(), false));
  GraphMaker then = RegionMaker(signature), otherwise = RegionMaker(signature);
  const std::vector<Value> first = then.values_;  // alike in both
  for (int ops = Pick(4); ops > 0; --ops) then.AppendAny();
  for (int ops = Pick(4); ops > 0; --ops) otherwise.AppendAny();
  std::vector<Value> results[2];
  for (int r = 1 + Pick(2); r > 0; --r) {
    if (then.graph_.symbols().size() == signature.symbols.size() && Percent(25)) {
      const Value any = OneOf(then.values_);  // of the same dim sizes in the other branch
      results[0].push_back(any);
      results[1].push_back(otherwise.Filled(then.dtype(any), then.shape(any)));
      continue;
    }
    const Value argument = OneOf(first);
    for (GraphMaker* branch : {&then, &otherwise}) {
      const bool resizes = branch->rank(argument) > 0 && Percent(35);
      const Value result = resizes ? branch->Resized(argument) : Percent(25) ? argument : branch->Changed(argument);
      results[branch == &then ? 0 : 1].push_back(result);
    }
  }
  if (results[0].empty()) return;
  std::vector<std::optional<DimExpr>> dim_sizes;
  for (size_t r = 0; r < results[0].size(); ++r) {
    for (int d = 0; d < then.rank(results[0][r]); ++d) {
      const auto one = signature.OuterOf(then.shape(results[0][r])[d]);
      const auto other = signature.OuterOf(otherwise.shape(results[1][r])[d]);
      dim_sizes.push_back(one == other ? one : std::nullopt);
    }
  }
  captured.insert(captured.begin(), Decision());
  AppendRegions(OpKind::kIf, captured, {then.RegionReturning(results[0]), otherwise.RegionReturning(results[1])},
                dim_sizes);
}

// `dim sizes` of all results, none where only a run tells.
void GraphMaker::AppendRegions(OpKind op, const std::vector<Value>& operands, std::vector<Region> regions,
                               const std::vector<std::optional<DimExpr>>& dim_sizes) {
  bool all = Percent(90);
  for (const auto& dim_size : dim_sizes) all = all && dim_size;
  Shape shapes;
  for (const auto& dim_size : dim_sizes) {
    if (!all) shapes.push_back(dim_size && Percent(90) ? *dim_size : NewSymbol());
  }
  const auto node = graph_.Append(op, operands, {{"shapes", shapes}}, std::move(regions));
  if (!node.ok()) return;
  for (size_t r = 0; r < graph_.node(*node).results.size(); ++r) {
    Keep(std::optional<Value>(Value{*node, static_cast<int32_t>(r)}));
  }
}

// A symbol for a count of at most some tensor's dim size, and what can be done with so many elements.
void GraphMaker::AppendBind() {
  const auto x = Find([&](Value v) { return rank(v) > 0; });
  const auto found = ExactCount();
  if (!x || !found) return;
  const int64_t axis = Pick(rank(*x));
  SymbolInfo info;
  if (Percent(8)) info.max = OneOf<int64_t>({7, 64});
  if (Percent(15)) info.likely = {1, 4};
  Value count = *Append(OpKind::kMin, {*found, DimSizeOf(shape(*x)[axis])});
  if (Percent(20)) {
    info.multiple_of = 2;
    info.likely.clear();
    count = *Append(OpKind::kSub, {count, *Append(OpKind::kMod, {count, Scalar(DType::kI64, 2)})});
  }
  if (Percent(10)) {
    info.min = 1;
    count = *Append(OpKind::kMax, {count, Scalar(DType::kI64, Percent(80) ? info.multiple_of : 0)});
  }
  const DimExpr dim_size = NewSymbol(std::move(info));
  Keep(Append(OpKind::kBind, {count}, {{"extent", Shape{dim_size}}}));
  for (int uses = 1 + Pick(3); uses > 0; --uses) AppendSoMany(*x, axis, dim_size);
}

// `dim size` is at most the dim size of x along `axis`.
void GraphMaker::AppendSoMany(Value x, int64_t axis, const DimExpr& dim_size) {
  const DType type = Percent(50) ? DType::kI32 : DType::kI64;
  const Attributes positions = {{"shape", Shape{dim_size}}, {"axis", int64_t{0}}, {"dtype", type}};
  Shape starts(rank(x), DimExpr(0)), sizes = shape(x);
  sizes[axis] = dim_size;
  switch (Pick(5)) {
    case 0:
      return Keep(Append(OpKind::kGather, {x, *Append(OpKind::kIota, {}, positions)}, {{"axis", axis}}));
    case 1:
      return Keep(Append(OpKind::kIota, {}, positions));
    case 2:
      return (void)Filled(AnyDType(), {AnySymbol(), dim_size + Pick(2)});
    case 3:
      starts[axis] = shape(x)[axis] - dim_size;
      [[fallthrough]];
    default:
      return Keep(Append(OpKind::kSlice, {x}, {{"starts", starts}, {"sizes", sizes}}));
  }
}

}  // namespace tailor
