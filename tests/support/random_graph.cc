#include "tests/support/random_graph.h"

#include <algorithm>
#include <array>
#include <memory>
#include <utility>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "graph/builders.h"
#include "tests/support/random_graph_inputs.h"
#include "tests/support/random_graph_maker.h"
#include "tests/support/reference_array.h"

namespace tailor {
namespace {

constexpr DType kDTypes[] = {DType::kF32, DType::kF64, DType::kI32, DType::kI64,  DType::kBool, DType::kU8,
                             DType::kI8,  DType::kU32, DType::kF16, DType::kBF16, DType::kI16,  DType::kU64};
constexpr int kDTypeWeights[] = {62, 7, 8, 6, 4, 3, 2, 2, 2, 2, 1, 1};

uint64_t HashOf(absl::string_view text) {
  uint64_t hash = 0xcbf29ce484222325;
  for (const char c : text) hash = (hash ^ static_cast<uint8_t>(c)) * 0x100000001b3;
  return hash;
}

// The name without what a convolution adds to it where it leaves out elements of windows (graph/convolution.cc), and
// for each spatial dim the first one it keeps, the end of those, and the number of all.
absl::string_view NameOfWhole(absl::string_view name, std::vector<std::array<int64_t, 3>>& kept) {
  const size_t suffix = name.rfind(".inside_");
  if (suffix == absl::string_view::npos) return name;
  std::vector<int64_t> numbers;
  for (absl::string_view text : absl::StrSplit(name.substr(suffix + 8), '_')) {
    int64_t number = 0;
    if (!absl::SimpleAtoi(text, &number)) return name;
    numbers.push_back(number);
  }
  for (size_t i = 0; i + 2 < numbers.size(); i += 3) kept.push_back({numbers[i], numbers[i + 1], numbers[i + 2]});
  return name.substr(0, suffix);
}

}  // namespace

Graph RandomGraph(uint64_t seed, const RandomGraphOptions& options) { return GraphMaker(seed, options).Make(); }

ConstantData SeededConstant(absl::string_view name, const TensorType& type) {
  std::vector<int64_t> dims;
  for (const DimExpr& dim : type.shape) dims.push_back(dim.constant().value_or(0));
  std::vector<std::array<int64_t, 3>> kept;
  const absl::string_view whole = NameOfWhole(name, kept);
  for (size_t side = 0; side < kept.size(); ++side) dims[dims.size() - kept.size() + side] = kept[side][2];
  reference::Array array = DrawArray(type.dtype, dims, HashOf(whole));
  std::vector<reference::Element> elements;
  for (size_t i = 0; i < array.elements.size(); ++i) {
    auto rest = static_cast<int64_t>(i);
    bool inside = true;
    for (size_t side = kept.size(); side-- > 0; rest /= kept[side][2]) {
      const int64_t along = rest % kept[side][2];
      inside = inside && along >= kept[side][0] && along < kept[side][1];
    }
    if (inside) elements.push_back(array.elements[i]);
  }
  array.elements = std::move(elements);
  auto bytes = std::make_shared<std::vector<std::byte>>(reference::ToBytes(array));
  const void* data = bytes->data();
  const uint64_t size = bytes->size();
  return {std::move(bytes), data, size, std::nullopt};
}

Graph GraphMaker::Make() {
  AddSymbols();
  AddFirstInputs();
  const int ops = options_.attention ? Pick(4) : 3 + Pick(Percent(30) ? 32 : 14);
  for (int i = 0; i < ops; ++i) AppendAny();
  if (options_.attention) AppendAttention();
  AddOutputs();
  return std::move(graph_);
}

void GraphMaker::AddSymbols() {
  static constexpr const char* kNames[] = {"B", "S", "T", "M", "N"};
  const int count = 2 + Pick(4);
  for (int i = 0; i < count; ++i) {
    SymbolInfo info{.name = kNames[i]};
    if (Percent(20)) info.min = 1 + Pick(2);
    if (Percent(25)) info.max = OneOf<int64_t>({7, 64, 512});
    if (Percent(20)) info.multiple_of = OneOf<int64_t>({2, 4, 16});
    if (info.max < info.multiple_of) info.max = 64;
    if (Percent(25)) info.likely = {info.multiple_of, OneOf<int64_t>({12, 24}) * info.multiple_of};
    std::erase_if(info.likely, [&](int64_t value) { return value < info.min || value > info.max; });
    (void)graph_.AddSymbol(std::move(info));
  }
  input_symbols_ = count;
  if (count >= 3 && Percent(10)) {
    (void)graph_.AssumeEqual(DimExpr::Symbol(2), DimExpr::Symbol(0) * DimExpr::Symbol(1));
  }
}

// Every symbol is the dim size of an input.
void GraphMaker::AddFirstInputs() {
  std::vector<DimExpr> left;
  for (size_t i = 0; i < graph_.symbols().size(); ++i) left.push_back(DimExpr::Symbol(static_cast<SymbolId>(i)));
  std::shuffle(left.begin(), left.end(), random_);
  while (!left.empty()) {
    Shape shape = AnyShape(2);
    for (int i = 1 + Pick(2); i > 0 && !left.empty(); --i) {
      shape.insert(shape.begin() + Pick(static_cast<int>(shape.size()) + 1), left.back());
      left.pop_back();
    }
    Input(AnyDType(), shape);
  }
}

void GraphMaker::AddOutputs() {
  std::vector<bool> used(graph_.nodes().size(), false);
  std::vector<bool> controlled;  // by control flow, or computed from what is
  for (const Node& node : graph_.nodes()) {
    controlled.push_back(InfoOf(node.op).fusion == FusionClass::kControl);
    for (Value operand : node.operands) {
      used[operand.node] = true;
      if (controlled[operand.node]) controlled.back() = true;
    }
  }
  std::vector<Value> candidates;
  for (Value v : values_) {
    const bool computed = InfoOf(graph_.node(v.node).op).fusion != FusionClass::kStructural;
    if (computed && !used[v.node]) candidates.push_back(v);
  }
  std::shuffle(candidates.begin(), candidates.end(), random_);
  if (options_.control && Percent(70)) {
    std::stable_partition(candidates.begin(), candidates.end(), [&](Value v) { return controlled[v.node]; });
  }
  const size_t most = OneOf<size_t>({1, 2, 2, 3});
  if (candidates.size() > most) candidates.resize(most);
  if (candidates.empty() || Percent(20)) candidates.push_back(OneOf(values_));
  if (Percent(4)) candidates.push_back(candidates[0]);
  for (Value v : candidates) (void)graph_.AddOutput(absl::StrCat("y", graph_.outputs().size()), v);
}

DType GraphMaker::AnyDType() {
  int at = Pick(100);
  for (size_t i = 0;; ++i) {
    at -= kDTypeWeights[i];
    if (at < 0) return kDTypes[i];
  }
}

DimExpr GraphMaker::AnySymbol() {
  if (input_symbols_ == 0) return OneOf<int64_t>({1, 2, 3});
  return DimExpr::Symbol(Pick(input_symbols_));
}

DimExpr GraphMaker::AnyDim() {
  const int late = static_cast<int>(graph_.symbols().size()) - input_symbols_;
  if (late > 0 && Percent(10)) return DimExpr::Symbol(input_symbols_ + Pick(late));
  const int choice = Pick(100);
  if (choice < 6) return 1;
  if (choice < 9) return OneOf<int64_t>({0, 2, 5, 16, 24});
  if (choice < 12) return AnySymbol() * OneOf<int64_t>({2, 4, 16});
  if (choice < 15) return AnySymbol() + 1;
  if (choice < 17) return AnySymbol() * AnySymbol();
  if (choice < 18) return AnySymbol() + AnySymbol();
  return AnySymbol();
}

Shape GraphMaker::AnyShape(int max_rank) {
  Shape shape;
  for (int i = Pick(max_rank + 1); i > 0; --i) shape.push_back(AnyDim());
  return shape;
}

bool GraphMaker::IsLate(const DimExpr& dim) const {
  const std::vector<SymbolId> symbols = dim.Symbols();
  return std::any_of(symbols.begin(), symbols.end(), [&](SymbolId id) { return depth_ > 0 || id >= input_symbols_; });
}

bool GraphMaker::IsLate(Value v) const {
  return std::any_of(shape(v).begin(), shape(v).end(), [&](const DimExpr& dim) { return IsLate(dim); });
}

Value GraphMaker::Input(DType dtype, Shape shape) {
  const bool late = std::any_of(shape.begin(), shape.end(), [&](const DimExpr& dim) { return IsLate(dim); });
  if (depth_ > 0 || late) return Filled(dtype, shape);
  const absl::StatusOr<Value> value = graph_.AddInput(absl::StrCat("x", inputs_++), dtype, std::move(shape));
  values_.push_back(*value);
  return *value;
}

Value GraphMaker::Filled(DType dtype, const Shape& shape) {
  if (shape.empty()) return Scalar(dtype, Pick(5));
  Value filled;
  if (Percent(30)) {
    filled = *Append(OpKind::kBroadcast, {Scalar(dtype, Pick(5))}, {{"shape", shape}});
  } else {
    const int64_t axis = Pick(static_cast<int>(shape.size()));
    const DType counted = dtype == DType::kBool ? DType::kI32 : dtype;
    filled = *Append(OpKind::kIota, {}, {{"shape", shape}, {"axis", axis}, {"dtype", counted}});
    if (IsFloat(dtype) && Percent(60)) filled = *Append(OpKind::kSin, {filled});
    if (dtype == DType::kBool) filled = *Append(OpKind::kCast, {filled}, {{"dtype", dtype}});
  }
  values_.push_back(filled);
  return filled;
}

Value GraphMaker::IndexInput(DType dtype, Shape shape, const DimExpr& dim_size) {
  const bool late = IsLate(dim_size) || std::any_of(shape.begin(), shape.end(), [&](auto& dim) { return IsLate(dim); });
  if (depth_ == 0 && !late) return Input(dtype, std::move(shape));
  Value index = Scalar(dtype, Pick(3));
  if (!shape.empty()) {
    const int64_t axis = Pick(static_cast<int>(shape.size()));
    index = *Append(OpKind::kIota, {}, {{"shape", shape}, {"axis", axis}, {"dtype", dtype}});
  }
  index = *Append(OpKind::kMod, {index, *Append(OpKind::kCast, {DimSizeOf(dim_size)}, {{"dtype", dtype}})});
  return Percent(30) ? *Append(OpKind::kSub, {Scalar(dtype, -1), index}) : index;
}

Value GraphMaker::Scalar(DType dtype, double value) { return *ScalarConstant(graph_, dtype, value); }

Value GraphMaker::Constant(DType dtype, Shape shape) {
  const TensorType type{dtype, shape};
  if (Percent(25)) {
    for (Value at_hand : weights_) {
      if (graph_.type(at_hand) == type) return at_hand;
    }
  }
  const std::string name = absl::StrCat("c", constants_++);
  weights_.push_back(*graph_.AddConstant(name, dtype, std::move(shape), SeededConstant(name, type)));
  return weights_.back();
}

std::optional<Value> GraphMaker::Append(OpKind op, std::initializer_list<Value> operands, Attributes attributes) {
  const absl::StatusOr<NodeId> node =
      graph_.Append(op, absl::MakeConstSpan(operands.begin(), operands.size()), std::move(attributes));
  if (!node.ok()) return std::nullopt;
  return Value{*node, 0};
}

void GraphMaker::Keep(std::optional<Value> v) {
  if (v && rank(*v) <= 5) values_.push_back(*v);
}

void GraphMaker::Keep(const absl::StatusOr<Value>& v) {
  if (v.ok()) Keep(std::optional<Value>(*v));
}

std::optional<Value> GraphMaker::FindFloat(int min_rank) {
  return Find([&](Value v) { return IsFloat(dtype(v)) && rank(v) >= min_rank; });
}

Value GraphMaker::Partner(Value a) { return PartnerOfType(a, dtype(a)); }

Value GraphMaker::PartnerOfType(Value a, DType type) {
  const bool unproved = Percent(15) && !IsLate(a);
  auto fits = [&](Value b) {
    if (dtype(b) != type) return false;
    const int shared = std::min(rank(a), rank(b));
    for (int d = 1; d <= shared; ++d) {
      const DimExpr &x = shape(a)[rank(a) - d], &y = shape(b)[rank(b) - d];
      if (x == y || x == DimExpr(1) || y == DimExpr(1)) continue;
      if (!unproved || IsLate(y) || (x.constant() && y.constant())) return false;
    }
    return true;
  };
  if (Percent(15)) return Scalar(type, IsFloat(type) ? 0.25 * (Pick(17) - 8) : Pick(7));
  if (Percent(75)) {
    if (auto b = Find(fits)) return *b;
  }
  Shape partner = shape(a);
  for (DimExpr& dim : partner) {
    const int choice = Pick(100);
    if (choice < 12) dim = 1;
    if (choice >= 12 && choice < 18 && depth_ == 0 && !IsLate(dim)) dim = AnySymbol();
  }
  if (!partner.empty() && Percent(25)) partner.erase(partner.begin(), partner.begin() + 1 + Pick(rank(a)));
  return Input(type, std::move(partner));
}

void GraphMaker::AppendAny() {
  if (options_.control && depth_ < 2 && Percent(9)) return AppendControl();
  static const std::vector<std::pair<int, void (GraphMaker::*)()>> kWeighted = {
      {12, &GraphMaker::AppendUnary},         {18, &GraphMaker::AppendBinary},      {4, &GraphMaker::AppendCompare},
      {6, &GraphMaker::AppendSelect},         {4, &GraphMaker::AppendLogic},        {5, &GraphMaker::AppendCast},
      {13, &GraphMaker::AppendReduce},        {10, &GraphMaker::AppendCompound},    {3, &GraphMaker::AppendAttention},
      {3, &GraphMaker::AppendIota},           {4, &GraphMaker::AppendBroadcast},    {8, &GraphMaker::AppendReshape},
      {7, &GraphMaker::AppendSlice},          {6, &GraphMaker::AppendTranspose},    {5, &GraphMaker::AppendConcat},
      {5, &GraphMaker::AppendGather},         {7, &GraphMaker::AppendDot},          {3, &GraphMaker::AppendShift},
      {11, &GraphMaker::AppendProductsOfOne}, {1, &GraphMaker::AppendLongMatmul},   {6, &GraphMaker::AppendPad},
      {7, &GraphMaker::AppendWindow},         {4, &GraphMaker::AppendScatter},      {2, &GraphMaker::AppendBitcast},
      {5, &GraphMaker::AppendScan},           {3, &GraphMaker::AppendSequenceConv}, {2, &GraphMaker::AppendImageLayers},
      {3, &GraphMaker::AppendQuantized},      {2, &GraphMaker::AppendRowsOfView}};
  int total = 0;
  for (const auto& [weight, append] : kWeighted) total += weight;
  int at = Pick(total);
  for (const auto& [weight, append] : kWeighted) {
    at -= weight;
    if (at < 0) return (this->*append)();
  }
}

}  // namespace tailor
