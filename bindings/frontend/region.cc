#include "bindings/frontend/region.h"

#include <algorithm>
#include <set>
#include <utility>

#include "bindings/frontend/error.h"
#include "bindings/frontend/ops.h"

namespace tailor::frontend {
namespace {

void InsertAll(const Sources& from, Sources* into) { into->insert(from.begin(), from.end()); }

// Calls visit(dim) for each dim that a tensor has or consists of.
template <typename Visit>
void VisitDims(const Tensor& tensor, Visit visit) {
  for (const Dim& dim : tensor.shape()) visit(dim);
  if (tensor.elements() == nullptr) return;
  for (const Element& element : *tensor.elements()) {
    if (element.is_dim()) visit(element.dim);
  }
}

// The range that is known of a symbol, as a range for another one.
SymbolRange RangeOf(Dims& dims, const Dim& symbol, const tailor_dim_info& declared) {
  const DimRange known = dims.Range(symbol);
  const SymbolRange range = {
      std::max(declared.min, known.min), std::min(declared.max, known.max), declared.multiple_of, {}};
  // Facts that contradict each other leave no number.
  const bool possible = range.max - range.max % range.multiple_of >= range.min;
  return possible ? range : SymbolRange{declared.min, declared.max, declared.multiple_of, {}};
}

// A symbol of `into` with the name and range of one of `from`'s.
Dim CopySymbol(Builder& from, const Dim& symbol, Builder& into) {
  const tailor_dim_info declared = from.dims().Describe(symbol);
  const std::string name = declared.name;
  const Dim out = into.dims().Symbol(name, RangeOf(from.dims(), symbol, declared));
  into.SetOrigin(out, from.OriginOf(symbol));
  return out;
}

}  // namespace

Closure::Closure(Builder& builder, std::vector<NamedTensor> tensors, const std::vector<Tensor>& states)
    : builder_(builder), tensors_(std::move(tensors)) {
  std::set<tailor_dim> dims, symbols;
  const auto visit = [&](const Dim& dim) {
    if (dim.known() || !dims.insert(dim.handle()).second) return;
    for (const Dim& symbol : builder_.dims().Symbols(dim)) {
      if (symbols.insert(symbol.handle()).second) symbols_.push_back(symbol);
    }
  };
  for (const NamedTensor& given : tensors_) {
    if (!given.tensor) continue;
    VisitDims(given.tensor, visit);
    InsertAll(given.tensor.sources(), &sources_);
  }
  for (const Tensor& state : states) {
    VisitDims(state, visit);
    InsertAll(state.sources(), &sources_);
  }
}

Region::Region(const Closure& closure, const std::string& name) : closure_(closure), builder_(name, closure.builder()) {
  for (const Dim& symbol : closure.symbols()) symbols_.push_back(CopySymbol(closure.builder(), symbol, builder_));
  builder_.set_run_state_source([this] { return CaptureRunState(); });
}

Dim Region::Inner(const Dim& outer) {
  return outer_builder().dims().Rewritten(outer, builder_.dims(), closure_.symbols(), symbols_);
}

std::optional<Dim> Region::Outer(const Dim& inner) {
  for (const Dim& symbol : builder_.dims().Symbols(inner)) {
    if (std::find(symbols_.begin(), symbols_.end(), symbol) == symbols_.end()) return std::nullopt;
  }
  return builder_.dims().Rewritten(inner, outer_builder().dims(), symbols_, closure_.symbols());
}

Tensor Region::Input(const std::string& name, DType dtype, const Shape& shape, const Sources& sources) {
  const std::string stem = name.empty() ? "value" : name;
  std::string unique = stem;
  while (names_.contains(unique)) unique = stem + "_" + std::to_string(++names_[stem]);
  names_.emplace(unique, 1);
  inputs_.push_back({unique, builder_.Input(unique, dtype, shape).WithSources(sources)});
  return inputs_.back().tensor;
}

std::vector<Tensor> Region::Capture() {
  std::vector<Tensor> inside;
  for (const NamedTensor& given : closure_.tensors()) {
    inside.push_back(given.tensor ? Captured(given.name, given.tensor) : Tensor());
  }
  CaptureHiddenSymbols();
  return inside;
}

RunState Region::CaptureRunState() {
  const RunState& outer = outer_builder().run_state();
  return {CapturedValue("seed", outer.seed), CapturedValue("run", outer.run)};
}

Tensor Region::Captured(const std::string& name, const Tensor& outer) {
  if (outer.computed()) return CapturedValue(name, outer).With(outer.narrow());
  if (const Array* array = outer.array()) {
    return builder_.Constant(*array, outer.name()).With(outer.narrow()).WithSources(outer.sources());
  }
  std::vector<Element> elements;
  for (const Element& element : *outer.elements()) {
    elements.push_back(element.is_dim() ? Element(Inner(element.dim)) : Element(CapturedValue(name, element.value)));
  }
  std::vector<int64_t> shape;
  for (const Dim& dim : outer.shape()) shape.push_back(dim.number());
  return builder_.Of(std::move(elements), outer.dtype(), std::move(shape)).With(outer.narrow());
}

Tensor Region::CapturedValue(const std::string& name, const Tensor& outer) {
  const auto known = values_.find(outer.value());
  if (known != values_.end()) return known->second;
  Shape shape;
  for (const Dim& dim : outer.shape()) shape.push_back(Inner(dim));
  const Tensor input = Input(name, outer.dtype(), shape, outer.sources());
  captured_.push_back(outer);
  values_.emplace(outer.value(), input);
  return input;
}

// Symbols get their values from dims of inputs that consist of them alone.
void Region::CaptureHiddenSymbols() {
  std::set<tailor_dim> shown;
  for (const NamedTensor& input : inputs_) {
    for (const Dim& dim : input.tensor.shape()) {
      if (!dim.known()) shown.insert(dim.handle());
    }
  }
  std::vector<size_t> hidden;
  for (size_t i = 0; i < symbols_.size(); ++i) {
    if (!shown.contains(symbols_[i].handle())) hidden.push_back(i);
  }
  for (size_t first = 0; first < hidden.size(); first += TAILOR_MAX_RANK - 1) {
    Shape inside = {0}, outside = {0};
    for (size_t i = first; i < std::min(hidden.size(), first + TAILOR_MAX_RANK - 1); ++i) {
      inside.push_back(symbols_[hidden[i]]);
      outside.push_back(closure_.symbols()[hidden[i]]);
    }
    Input("extents", DType::kBool, inside, {});
    captured_.push_back(Broadcast(outer_builder().Scalar(DType::kBool, 0), outside));
  }
}

Region::Twin Region::Alike(const std::string& name) {
  Twin twin{std::make_unique<Builder>(name), {}};
  std::vector<Dim> symbols, replacements;
  for (const NamedTensor& input : inputs_) {
    Shape shape;
    for (const Dim& dim : input.tensor.shape()) {
      for (const Dim& symbol : builder_.dims().Symbols(dim)) {
        if (std::find(symbols.begin(), symbols.end(), symbol) != symbols.end()) continue;
        symbols.push_back(symbol);
        replacements.push_back(CopySymbol(builder_, symbol, *twin.builder));
      }
      shape.push_back(builder_.dims().Rewritten(dim, twin.builder->dims(), symbols, replacements));
    }
    twin.inputs.push_back(twin.builder->Input(input.name, input.tensor.dtype(), shape));
  }
  return twin;
}

namespace {

// The dims of a branch's results: those of both regions, where they are the same, else new symbols.
struct JoinedShapes {
  std::vector<Dim> dims;  // of all results, concatenated
  bool known = true;      // whether all are the same
};

JoinedShapes Joined(Region& one, const std::vector<Tensor>& ones, Region& other, const std::vector<Tensor>& others) {
  JoinedShapes joined;
  for (size_t i = 0; i < ones.size(); ++i) {
    const Tensor &a = ones[i], &b = others[i];
    const std::string result = " as result " + std::to_string(i);
    if (a.rank() != b.rank()) {
      Fail("the branches return ranks " + std::to_string(a.rank()) + " and " + std::to_string(b.rank()) + result);
    }
    if (a.dtype() != b.dtype() || a.narrow() != b.narrow()) {
      Fail(std::string("the branches return ") + NameOf(a.dtype()) + " and " + NameOf(b.dtype()) + result);
    }
    for (int d = 0; d < a.rank(); ++d) {
      const std::optional<Dim> lhs = one.Outer(a.dim(d)), rhs = other.Outer(b.dim(d));
      const bool same = lhs && lhs == rhs;
      joined.known = joined.known && same;
      joined.dims.push_back(same ? *lhs : one.outer_builder().dims().Fresh("n"));
    }
  }
  return joined;
}

void AppendOutputs(Region& region, const std::vector<Tensor>& results) {
  for (size_t i = 0; i < results.size(); ++i) region.builder().Output("result" + std::to_string(i), results[i]);
}

}  // namespace

std::vector<Tensor> AppendIf(const Tensor& condition, Region& then_region, const std::vector<Tensor>& then_results,
                             Region& else_region, const std::vector<Tensor>& else_results) {
  if (then_results.size() != else_results.size()) {
    Fail("the branches return " + std::to_string(then_results.size()) + " and " + std::to_string(else_results.size()) +
         " results");
  }
  // Both regions have the same inputs.
  if (then_region.builder().has_run_state()) else_region.builder().run_state();
  if (else_region.builder().has_run_state()) then_region.builder().run_state();
  AppendOutputs(then_region, then_results);
  AppendOutputs(else_region, else_results);
  const JoinedShapes joined = Joined(then_region, then_results, else_region, else_results);
  Builder& builder = then_region.outer_builder();
  const std::vector<tailor_dim> shapes = builder.dims().Handles(joined.known ? Shape() : joined.dims);
  std::vector<Tensor> operands = {condition};
  std::vector<tailor_value> values;
  for (const Tensor& operand : then_region.captured()) {
    operands.push_back(operand);
    values.push_back(operand.value());
  }
  std::vector<Tensor> results = builder.AppendSeveral(operands, then_results.size(), [&](tailor_value* outs) {
    return tailor_graph_if(builder.graph(), condition.value(), values.data(), values.size(),
                           then_region.builder().graph(), else_region.builder().graph(), shapes.data(), shapes.size(),
                           outs, then_results.size());
  });
  for (size_t i = 0; i < results.size(); ++i) results[i] = results[i].With(then_results[i].narrow());
  return results;
}

}  // namespace tailor::frontend
