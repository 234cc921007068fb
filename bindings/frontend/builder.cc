#include "bindings/frontend/builder.h"

#include <algorithm>
#include <utility>

#include "bindings/frontend/error.h"
#include "bindings/frontend/evaluate.h"
#include "bindings/frontend/random.h"

namespace tailor::frontend {

struct Tensor::State {
  Builder* builder = nullptr;
  DType dtype = DType::kInvalid;
  Shape shape;
  std::optional<Array> array;
  std::optional<std::vector<Element>> elements;
  std::vector<Element> parts;  // of a computed list, if they were asked for
  std::optional<Quotient> quotient;
  std::string name;
  tailor_value value = 0;
  bool named = false;
  Narrow narrow = Narrow::kNone;
  std::shared_ptr<const Sources> sources;
  Tensor repeated;
  std::shared_ptr<const QuantizedSource> quantized;
  std::shared_ptr<const Sequence> sequence;
};

namespace {

const std::shared_ptr<const Sources>& NoSources() {
  static const auto none = std::make_shared<const Sources>();
  return none;
}

Shape ShapeOf(const std::vector<int64_t>& shape) { return Shape(shape.begin(), shape.end()); }

}  // namespace

Tensor::State& Tensor::state() const {
  if (state_ == nullptr) Fail("an operand is missing");
  return *state_;
}

Tensor::State& Tensor::TensorState() const {
  if (state().sequence != nullptr) Fail("a sequence stands where a tensor is expected");
  return *state_;
}

Builder& Tensor::builder() const { return *state().builder; }
DType Tensor::dtype() const { return state().dtype; }
const Shape& Tensor::shape() const { return TensorState().shape; }
int Tensor::rank() const { return static_cast<int>(TensorState().shape.size()); }
const Sequence* Tensor::sequence() const { return state().sequence.get(); }
const Array* Tensor::array() const { return state().array ? &*state_->array : nullptr; }
const std::vector<Element>* Tensor::elements() const { return state().elements ? &*state_->elements : nullptr; }
const std::optional<Quotient>& Tensor::quotient() const { return state().quotient; }
const std::string& Tensor::name() const { return state().name; }
Narrow Tensor::narrow() const { return state().narrow; }
const Sources& Tensor::sources() const { return *state().sources; }

const Dim& Tensor::dim(int axis) const {
  const int at = axis < 0 ? axis + rank() : axis;
  if (at < 0 || at >= rank()) {
    Fail("axis " + std::to_string(axis) + " is out of range for rank " + std::to_string(rank()));
  }
  return state_->shape[static_cast<size_t>(at)];
}

tailor_value Tensor::value() const {
  if (TensorState().value == 0) state_->value = state_->builder->Materialize(*state_);
  return state_->value;
}

void Tensor::SetName(const std::string& name) const {
  if (!computed() || state_->named) return;
  state_->named = true;
  Check(tailor_graph_set_name(builder().graph(), value(), name.data(), name.size()));
}

Tensor Tensor::With(Narrow narrow) const {
  Tensor out(std::make_shared<State>(state()));
  out.state_->narrow = narrow;
  return out;
}

Tensor Tensor::With(const Quotient& quotient) const {
  Tensor out(std::make_shared<State>(state()));
  out.state_->quotient = quotient;
  return out;
}

Tensor Tensor::WithSources(const Sources& sources) const {
  Tensor out(std::make_shared<State>(state()));
  out.state_->sources = std::make_shared<const Sources>(sources);
  return out;
}

Tensor Tensor::repeated() const { return state().repeated; }
const QuantizedSource* Tensor::quantized() const { return state().quantized.get(); }

Tensor Tensor::WithQuantized(QuantizedSource source) const {
  Tensor out(std::make_shared<State>(state()));
  out.state_->quantized = std::make_shared<const QuantizedSource>(std::move(source));
  return out;
}

Tensor Tensor::WithRepeated(const Tensor& operand) const {
  Tensor out(std::make_shared<State>(state()));
  out.state_->repeated = operand;
  return out;
}

Builder::Builder(const std::string& name)
    : graph_([&] {
        tailor_graph* graph;
        Check(tailor_graph_create(name.data(), name.size(), &graph));
        return graph;
      }()),
      dims_(graph_, [this](Dim dim) { return DimOf(Element(OfValue(ValueOf(dim), {}))); }),
      growth_(std::make_shared<int64_t>(kMaxGrowth)) {}

Builder::Builder(const std::string& name, const Builder& around) : Builder(name) { growth_ = around.growth_; }

Builder::~Builder() { tailor_graph_release(graph_); }

tailor_graph* Builder::Release() { return std::exchange(graph_, nullptr); }

Tensor Builder::Input(const std::string& name, DType dtype, const Shape& shape) {
  const std::vector<tailor_dim> dims = dims_.Handles(shape);
  tailor_value value;
  Check(tailor_graph_input(graph_, name.data(), name.size(), static_cast<int32_t>(dtype), dims.data(), dims.size(),
                           &value));
  for (const Dim& dim : shape) {
    for (const Dim& symbol : dims_.Symbols(dim)) origins_.emplace(symbol.handle(), std::nullopt);
  }
  const Tensor out = OfValue(value, {name});
  out.state_->named = true;
  return out;
}

void Builder::Output(const std::string& name, const Tensor& tensor) {
  Check(tailor_graph_output(graph_, name.data(), name.size(), tensor.value()));
}

bool Builder::TakeGrowth(int64_t elements) {
  if (elements > *growth_) return false;
  *growth_ -= elements;
  return true;
}

Tensor Builder::Constant(Array array, const std::string& name) {
  if (array.rank() > TAILOR_MAX_RANK) Unsupported("a constant has rank " + std::to_string(array.rank()));
  auto state = std::make_shared<Tensor::State>();
  state->builder = this;
  state->dtype = array.dtype();
  state->shape = ShapeOf(array.shape());
  state->array = std::move(array);
  state->name = name;
  state->sources = NoSources();
  return Tensor(std::move(state));
}

Tensor Builder::Of(std::vector<Element> elements, DType dtype, std::vector<int64_t> shape) {
  if (std::all_of(elements.begin(), elements.end(), [](const Element& e) { return e.is_number(); })) {
    Array array = Array::New(dtype, std::move(shape));
    for (size_t i = 0; i < elements.size(); ++i) {
      array.set_integer(static_cast<int64_t>(i), elements[i].dim.number());
    }
    return Constant(std::move(array));
  }
  auto state = std::make_shared<Tensor::State>();
  state->builder = this;
  state->dtype = dtype;
  state->shape = ShapeOf(shape);
  Sources sources;
  for (const Element& element : elements) {
    if (!element.is_dim()) sources.insert(element.value.sources().begin(), element.value.sources().end());
  }
  state->sources = sources.empty() ? NoSources() : std::make_shared<const Sources>(std::move(sources));
  state->elements = std::move(elements);
  return Tensor(std::move(state));
}

Tensor Builder::OfSequence(Sequence sequence, DType dtype) {
  auto state = std::make_shared<Tensor::State>();
  state->builder = this;
  state->dtype = dtype;
  state->sources = NoSources();
  state->sequence = std::make_shared<const Sequence>(std::move(sequence));
  return Tensor(std::move(state));
}

Tensor Builder::List(std::vector<Element> elements, DType dtype) {
  const auto count = static_cast<int64_t>(elements.size());
  return Of(std::move(elements), dtype, {count});
}

std::optional<std::vector<Element>> Builder::KnownElements(const Tensor& tensor) {
  if (const auto* elements = tensor.elements()) {
    if (!std::all_of(elements->begin(), elements->end(), [](const Element& e) { return e.is_dim(); })) {
      return std::nullopt;
    }
    return *elements;
  }
  const Array* array = tensor.array();
  if (array == nullptr || array->size() > kMaxElements || IsFloat(array->dtype())) return std::nullopt;
  std::vector<Element> elements;
  for (int64_t i = 0; i < array->size(); ++i) elements.emplace_back(array->integer(i));
  return elements;
}

std::optional<std::vector<Element>> Builder::Parts(const Tensor& tensor) {
  if (const auto* elements = tensor.elements()) return *elements;
  if (tensor.array() != nullptr) return KnownElements(tensor);
  if (!IsInteger(tensor.dtype()) || tensor.rank() > 1) return std::nullopt;
  if (tensor.rank() == 0) return std::vector<Element>{tensor};
  const Dim& count = tensor.dim(0);
  if (!count.known() || count.number() > kMaxComputedDims) return std::nullopt;
  if (!tensor.state().parts.empty()) return tensor.state().parts;
  std::vector<Element> parts;
  for (int64_t i = 0; i < count.number(); ++i) {
    const tailor_dim start = dims_.Handle(i), size = dims_.Handle(1);
    const Tensor part = Append({tensor}, [&](tailor_value* out) -> tailor_status* {
      tailor_value one = tensor.value();
      if (count.number() > 1) Check(tailor_graph_slice(graph_, tensor.value(), &start, 1, &size, 1, nullptr, &one));
      return tailor_graph_reshape(graph_, one, nullptr, 0, out);
    });
    parts.emplace_back(part);
  }
  tensor.state().parts = parts;  // the same each time, so that their dims are
  return parts;
}

Dim Builder::DimOf(const Element& element, int64_t min) {
  if (element.is_dim()) return element.dim;
  const tailor_value count = element.value.value();
  const auto known = bound_.find(count);
  if (known != bound_.end()) return known->second;
  const Dim symbol = dims_.Fresh("n", min);
  SetOrigin(symbol, element.value.sources());
  tailor_value wide = count;
  if (element.value.dtype() != DType::kI64) Check(tailor_graph_cast(graph_, count, TAILOR_I64, &wide));
  const tailor_dim handle = symbol.handle();
  tailor_value value;
  Check(tailor_graph_bind(graph_, wide, &handle, 1, &value));
  counts_.emplace(handle, value);
  bound_.emplace(count, symbol);
  bound_sources_.emplace(handle, SourcesOf(element.value));
  return symbol;
}

const RunState& Builder::run_state() {
  if (!run_state_) run_state_ = run_state_source_ ? run_state_source_() : AppendRunState(*this);
  return *run_state_;
}

std::optional<Sources> Builder::OriginOf(const Dim& symbol) const {
  const auto found = origins_.find(symbol.handle());
  return found == origins_.end() ? std::nullopt : found->second;
}

void Builder::SetOrigin(const Dim& symbol, std::optional<Sources> origin) {
  origins_.insert_or_assign(symbol.handle(), std::move(origin));
}

Tensor Builder::NumberOf(const Element& element) {
  if (element.is_dim()) return Number(element.dim);
  if (element.value.dtype() == DType::kI64) return element.value;
  return Append({element.value},
                [&](tailor_value* out) { return tailor_graph_cast(graph_, element.value.value(), TAILOR_I64, out); });
}

Sources Builder::SourcesOf(const Tensor& tensor) {
  Sources sources = tensor.sources();
  const auto add = [&](const Dim& dim) {
    for (const Dim& symbol : dims_.Symbols(dim)) {
      const auto bound = bound_sources_.find(symbol.handle());
      if (bound != bound_sources_.end()) sources.insert(bound->second.begin(), bound->second.end());
    }
  };
  for (const Dim& dim : tensor.shape()) add(dim);
  for (const Element& element : tensor.elements() != nullptr ? *tensor.elements() : std::vector<Element>()) {
    if (element.is_dim()) add(element.dim);
  }
  return sources;
}

Tensor Builder::Append(const std::vector<Tensor>& operands,
                       const std::function<tailor_status*(tailor_value* out)>& call) {
  return AppendSeveral(operands, 1, call)[0];
}

std::vector<Tensor> Builder::AppendSeveral(const std::vector<Tensor>& operands, size_t count,
                                           const std::function<tailor_status*(tailor_value* outs)>& call) {
  std::vector<tailor_value> values(count, 0);
  Check(call(values.data()));
  std::shared_ptr<const Sources> sources = NoSources();
  for (const Tensor& operand : operands) {
    const auto& more = operand.state_->sources;
    if (more == sources || more->empty()) continue;
    if (sources->empty()) {
      sources = more;
    } else if (!std::includes(sources->begin(), sources->end(), more->begin(), more->end())) {
      auto joined = std::make_shared<Sources>(*sources);
      joined->insert(more->begin(), more->end());
      sources = std::move(joined);
    }
  }
  std::vector<Tensor> out;
  for (tailor_value value : values) {
    out.push_back(OfValue(value, {}));
    out.back().state_->sources = sources;
    for (const Dim& dim : out.back().shape()) {
      if (dim.known() || origins_.contains(dim.handle())) continue;
      const bool made = dims_.Describe(dim).kind == TAILOR_DIM_SYMBOL;
      origins_.emplace(dim.handle(), made ? std::optional(*sources) : std::nullopt);
    }
  }
  return out;
}

Tensor Builder::OfValue(tailor_value value, const Sources& sources) {
  int32_t dtype, rank;
  tailor_dim dims[TAILOR_MAX_RANK];
  Check(tailor_graph_value_type(graph_, value, &dtype, &rank, dims));
  auto state = std::make_shared<Tensor::State>();
  state->builder = this;
  state->dtype = static_cast<DType>(dtype);
  for (int i = 0; i < rank; ++i) state->shape.push_back(dims_.OfHandle(dims[i]));
  state->value = value;
  state->sources = sources.empty() ? NoSources() : std::make_shared<const Sources>(sources);
  return Tensor(std::move(state));
}

tailor_value Builder::Materialize(Tensor::State& state) {
  return state.array ? AppendConstant(state) : AppendElements(state);
}

tailor_value Builder::AppendConstant(const Tensor::State& state) {
  const Array& array = *state.array;
  tailor_value value;
  const bool is_exact = SizeOf(array.dtype()) < 8 || IsFloat(array.dtype());  // as a double
  if (array.rank() == 0 && state.name.empty() && is_exact) {
    Check(tailor_graph_scalar(graph_, static_cast<int32_t>(array.dtype()), array.number(0), &value));
    return value;
  }
  // The graph holds the memory until it and every compilation of it are gone.
  auto* owner = new std::shared_ptr<const void>(array.owner());
  const auto release = [](void* user) { delete static_cast<std::shared_ptr<const void>*>(user); };
  Check(tailor_graph_constant(graph_, state.name.data(), state.name.size(), static_cast<int32_t>(array.dtype()),
                              array.shape().data(), array.shape().size(), array.data(), array.bytes(), release, owner,
                              &value));
  return value;
}

tailor_value Builder::AppendElements(const Tensor::State& state) {
  if (state.shape.empty()) return ValueOf((*state.elements)[0], state.dtype);
  std::vector<tailor_value> parts;
  for (const Element& element : *state.elements) parts.push_back(Reshaped(ValueOf(element, state.dtype), {1}));
  tailor_value joined = parts[0];
  if (parts.size() > 1) Check(tailor_graph_concat(graph_, parts.data(), parts.size(), 0, &joined));
  return state.shape.size() == 1 ? joined : Reshaped(joined, state.shape);
}

tailor_value Builder::ValueOf(const Element& element, DType dtype) {
  const DType given = element.is_dim() ? DType::kI64 : element.value.dtype();
  tailor_value value = element.is_dim() ? ValueOf(element.dim) : element.value.value();
  if (given != dtype) Check(tailor_graph_cast(graph_, value, static_cast<int32_t>(dtype), &value));
  return value;
}

tailor_value Builder::ValueOf(const Dim& dim) {
  tailor_value value;
  if (dim.known()) {
    return Constant(Array::Integer(DType::kI64, dim.number())).value();
  }
  const auto count = counts_.find(dim.handle());
  if (count != counts_.end()) return count->second;
  // The last of dim + 1 indices, of which kernels keep only the number. A longest dim has no dim + 1.
  const std::optional<Dim> past = dims_.NonNegative(dim) ? dims_.TryAdd(dim, 1) : std::nullopt;
  if (past) {
    const tailor_dim one = dims_.Handle(1), start = dim.handle(), size = dims_.Handle(*past);
    Check(tailor_graph_iota(graph_, &size, 1, 0, TAILOR_I64, &value));
    Check(tailor_graph_slice(graph_, value, &start, 1, &one, 1, nullptr, &value));
    return Reshaped(value, {});
  }
  const tailor_dim_info info = dims_.Describe(dim);
  const tailor_value lhs = ValueOf(dims_.OfHandle(info.lhs)), rhs = ValueOf(dims_.OfHandle(info.rhs));
  const auto binary = [&](BinaryOp op, tailor_value a, tailor_value b) {
    tailor_value out;
    Check(AppendBinary(op, graph_, a, b, &out));
    return out;
  };
  switch (info.kind) {
    case TAILOR_DIM_ADD:
      return binary(BinaryOp::kAdd, lhs, rhs);
    case TAILOR_DIM_MUL:
      return binary(BinaryOp::kMul, lhs, rhs);
    case TAILOR_DIM_FLOORDIV:
      return binary(BinaryOp::kDiv, binary(BinaryOp::kSub, lhs, binary(BinaryOp::kMod, lhs, rhs)), rhs);
    case TAILOR_DIM_MOD:
      return binary(BinaryOp::kMod, lhs, rhs);
    case TAILOR_DIM_MIN:
      return binary(BinaryOp::kMin, lhs, rhs);
    case TAILOR_DIM_MAX:
      return binary(BinaryOp::kMax, lhs, rhs);
    default:
      Unsupported("the dim size " + dims_.Text(dim) + " cannot be computed");
  }
}

tailor_value Builder::Reshaped(tailor_value x, const Shape& shape) {
  const std::vector<tailor_dim> dims = dims_.Handles(shape);
  tailor_value out;
  Check(tailor_graph_reshape(graph_, x, dims.data(), dims.size(), &out));
  return out;
}

}  // namespace tailor::frontend
