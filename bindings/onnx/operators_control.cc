// Branches and loops: If, Loop, Scan.
#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "bindings/frontend/loop.h"
#include "bindings/frontend/region.h"
#include "bindings/onnx/graph_importer.h"
#include "bindings/onnx/loop_invariants.h"
#include "bindings/onnx/node.h"

namespace tailor::onnx {
namespace {

using frontend::Closure;
using frontend::Dim;
using frontend::Element;
using frontend::Fail;
using frontend::LoopResults;
using frontend::LoopStep;
using frontend::NamedTensor;
using frontend::Region;
using frontend::Tensor;

constexpr int kMaxRegions = 32;  // loops and branches around one another
constexpr int kMaxLoops = 6;     // a body is imported until the dims that it changes are known

// What subgraphs see: where their node stands.
struct Place {
  GraphImporter& importer;
  const Opsets& opsets;
  const Scope& scope;
  int depth;
};

Place PlaceOf(const Node& node) { return {node.importer(), node.opsets(), node.scope(), node.depth()}; }

std::vector<std::string_view> NamesReadBy(const std::vector<const GraphProto*>& graphs) {
  std::set<std::string_view> names;
  for (const GraphProto* graph : graphs) {
    for (std::string_view name : FreeNames(*graph)) names.insert(name);
  }
  return {names.begin(), names.end()};
}

std::vector<NamedTensor> Found(const std::vector<std::string_view>& names, const Scope& scope) {
  std::vector<NamedTensor> found;
  for (std::string_view name : names) {
    const Tensor* tensor = scope.Find(name);
    if (tensor != nullptr && *tensor && tensor->sequence() != nullptr) {
      frontend::Unsupported("a branch that data decides, or a loop, reads the sequence \"" + std::string(name) + "\"");
    }
    found.push_back({std::string(name), tensor == nullptr ? Tensor() : *tensor});
  }
  return found;
}

enum class RegionKind { kBranch, kLoop };

// The nesting inside of one more region. Fails if that is too deep.
Nesting Inside(const Place& place, RegionKind kind) {
  Nesting nesting = place.importer.nesting();
  if (++nesting.regions > kMaxRegions) {
    frontend::Unsupported("loops and branches nest deeper than " + std::to_string(kMaxRegions));
  }
  if (kind == RegionKind::kLoop && ++nesting.loops > kMaxLoops) {
    frontend::Unsupported("loops nest deeper than " + std::to_string(kMaxLoops));
  }
  return nesting;
}

// Imports a subgraph into a region. `scope` has its inputs; what it reads is added from `captured`, the tensors of the
// closure, which begin with `names`.
Tensors ImportInto(Region& region, const Place& place, Nesting nesting, const GraphProto& graph,
                   const std::vector<std::string_view>& names, const std::vector<Tensor>& captured, Scope& scope) {
  ModelImport& model = place.importer.model();
  const SubgraphImport counted(model, 0);
  const std::vector<std::string_view> reads = NamesReadBy({&graph});
  for (size_t i = 0; i < names.size(); ++i) {
    if (std::binary_search(reads.begin(), reads.end(), names[i])) scope.Set(names[i], captured[i]);
  }
  GraphImporter importer(model, region.builder(), nesting);
  return importer.ImportSubgraph(graph, place.opsets, scope, place.depth + 1);
}

// ---- If

// The condition of a branch, if constants and facts on dims decide it.
std::optional<bool> Decided(const Node& node, const Tensor& condition) {
  if (const frontend::Array* array = condition.array()) {
    if (array->size() != 1) Fail("its condition has " + std::to_string(array->size()) + " elements, not 1");
    return array->number(0) != 0;
  }
  if (condition.elements() == nullptr || condition.elements()->size() != 1) return std::nullopt;
  const Element& element = condition.elements()->front();
  if (!element.is_dim()) return std::nullopt;
  const frontend::DimRange range = node.dims().Range(element.dim);
  if (range.min > 0 || range.max < 0) return true;
  if (range.min == 0 && range.max == 0) return false;
  return std::nullopt;
}

std::string Joined(const std::set<std::string>& names) {
  std::string text;
  for (const std::string& name : names) text += (text.empty() ? "" : ", ") + name;
  return text;
}

// Fails because the branches return different ranks: names the dims or inputs that decide the condition.
[[noreturn]] void FailForRanks(const Node& node, int then_rank, int else_rank) {
  const std::string what =
      "the rank of what the branches return, " + std::to_string(then_rank) + " or " + std::to_string(else_rank) + ",";
  const Tensor& condition = node[0];
  if (condition.computed() || condition.array() != nullptr || !condition.elements()->front().is_dim()) {
    node.DependsOnData(condition, what);
  }
  const Dim& dim = condition.elements()->front().dim;
  std::set<std::string> names;
  frontend::Sources origins;
  bool from_data = false;
  for (const Dim& symbol : node.dims().Symbols(dim)) {
    names.insert(node.dims().Text(symbol));
    const std::optional<frontend::Sources> origin = node.builder().OriginOf(symbol);
    if (!origin) continue;
    from_data = true;
    origins.insert(origin->begin(), origin->end());
  }
  if (from_data) node.DependsOnData(condition.WithSources(origins), what);
  const std::string sizes = Joined(names);
  frontend::Unsupported(what + " depends on the dim size" + (names.size() > 1 ? "s " : " ") + sizes +
                        ": the condition is " + node.dims().Text(dim) + "; load with dims= that give " + sizes +
                        " a fixed size or a range that decides it");
}

// Whether a branch drops dims of size 1, or returns what it reads.
bool HasOnly(const GraphProto& graph, std::string_view op_type) {
  const auto is_one = [&](const NodeProto& node) { return node.op_type == op_type && node.domain.empty(); };
  return std::any_of(graph.nodes.begin(), graph.nodes.end(), is_one) &&
         std::all_of(graph.nodes.begin(), graph.nodes.end(),
                     [&](const NodeProto& node) { return is_one(node) || node.op_type == "Constant"; });
}

// Names of the symbols of a dim, all of which dims of inputs give; empty if data gives one.
std::string SizesOfInputs(const Node& node, const Dim& dim) {
  std::set<std::string> names;
  for (const Dim& symbol : node.dims().Symbols(dim)) {
    if (node.builder().OriginOf(symbol)) return "";
    names.insert(node.dims().Text(symbol));
  }
  return Joined(names);
}

// Whether `shape` of a region, as the graph around it knows it, is `whole` without one dim.
bool LacksDim(Region& region, const frontend::Shape& shape, const frontend::Shape& whole, int axis) {
  frontend::Shape rest = whole;
  rest.erase(rest.begin() + axis);
  return rest.size() == shape.size() && std::equal(shape.begin(), shape.end(), rest.begin(),
                                                   [&](const Dim& a, const Dim& b) { return region.Outer(a) == b; });
}

// What an If returns in one of its branches.
struct BranchResult {
  const GraphProto& branch;
  Region& region;
  const Tensor& tensor;
};

// Whether to take the branch that squeezes, in exporters' form of "drop the dim if it is 1": a Squeeze where the
// condition says that the dim is 1, else the tensor as it is. Ranks differ, so one of them has to be assumed; runs
// check it. Not in loops: the sizes of states would have to be right before and after every iteration.
bool AssumesSqueeze(const Node& node, const BranchResult& squeezed, const BranchResult& kept, bool when) {
  const Tensor& condition = node[0];
  if (!HasOnly(squeezed.branch, "Squeeze") || !HasOnly(kept.branch, "Identity")) return false;
  if (node.importer().nesting().loops > 0 || condition.elements() == nullptr) return false;
  const Element& element = condition.elements()->front();
  if (!element.is_dim()) return false;
  Dims& dims = node.dims();
  const Dim holds = when ? element.dim : dims.Sub(1, element.dim);
  frontend::Shape whole;
  for (const Dim& dim : kept.tensor.shape()) {
    const std::optional<Dim> outer = kept.region.Outer(dim);
    if (!outer) return false;
    whole.push_back(*outer);
  }
  for (int axis = 0; axis < static_cast<int>(whole.size()); ++axis) {
    const Dim& dim = whole[axis];
    const std::string sizes = SizesOfInputs(node, dim);
    if (sizes.empty() || dims.Equal(dim, 1) != holds) continue;
    if (!LacksDim(squeezed.region, squeezed.tensor.shape(), whole, axis)) continue;
    const std::string what = node.Label() + " drops dim " + std::to_string(axis) +
                             " of the tensor, which has to be 1; to keep it, load with dims= that give " + sizes +
                             " a range without 1";
    dims.AssumeAtLeast(dim, 1, what);
    dims.AssumeAtLeast(dims.Sub(1, dim), 0, what);
    dims.AssumeEqual(dim, 1);
    return true;
  }
  return false;
}

Tensors ImportBranch(const Node& node, const GraphProto& branch) {
  Scope scope(&node.scope());
  return node.importer().ImportSubgraph(branch, node.opsets(), scope, node.depth() + 1);
}

Tensors If(const Node& node) {
  const GraphProto &then_branch = node.Graph("then_branch"), &else_branch = node.Graph("else_branch");
  if (const std::optional<bool> decided = Decided(node, node[0])) {
    return ImportBranch(node, *decided ? then_branch : else_branch);
  }
  const Place place = PlaceOf(node);
  const Nesting nesting = Inside(place, RegionKind::kBranch);
  const std::vector<std::string_view> names = NamesReadBy({&then_branch, &else_branch});
  const Closure closure(node.builder(), Found(names, node.scope()));
  Region then_region(closure, "then"), else_region(closure, "else");
  Scope then_scope, else_scope;
  Tensors ones = ImportInto(then_region, place, nesting, then_branch, names, then_region.Capture(), then_scope);
  Tensors others = ImportInto(else_region, place, nesting, else_branch, names, else_region.Capture(), else_scope);
  for (size_t i = 0; i < std::min(ones.size(), others.size()); ++i) {
    if (ones[i].sequence() != nullptr || others[i].sequence() != nullptr) {
      frontend::Unsupported("its branches return sequences, and data decides");
    }
    if (ones[i].rank() == others[i].rank()) continue;
    if (!frontend::IsOneElement(ones[i]) || !frontend::IsOneElement(others[i])) {
      const BranchResult one{then_branch, then_region, ones[i]}, other{else_branch, else_region, others[i]};
      if (AssumesSqueeze(node, one, other, true)) return ImportBranch(node, then_branch);
      if (AssumesSqueeze(node, other, one, false)) return ImportBranch(node, else_branch);
      FailForRanks(node, ones[i].rank(), others[i].rank());
    }
    Tensor& lower = ones[i].rank() < others[i].rank() ? ones[i] : others[i];
    lower =
        frontend::Reshape(lower, frontend::Shape(std::max(ones[i].rank(), others[i].rank()), 1)).With(lower.narrow());
  }
  return AppendIf(node.ScalarOf(node[0]), then_region, ones, else_region, others);
}

// ---- Loop

// Whether a subgraph returns as `output` what it gets as `source`.
bool Returns(const GraphProto& graph, std::string_view output, std::string_view source) {
  std::map<std::string_view, std::string_view> copies;
  for (const NodeProto& node : graph.nodes) {
    const bool copy = node.op_type == "Identity" && node.domain.empty();
    if (copy && node.inputs.size() == 1 && node.outputs.size() == 1) copies.emplace(node.outputs[0], node.inputs[0]);
  }
  for (size_t i = 0; i <= copies.size(); ++i) {
    if (output == source) return true;
    const auto copy = copies.find(output);
    if (copy == copies.end()) return false;
    output = copy->second;
  }
  return false;
}

// A scalar in the rank that a body declares: 0, or 1 with one element.
Tensor InRankOf(const ValueInfo& info, const Tensor& scalar) {
  return info.has_shape && info.dims.size() == 1 ? frontend::Reshape(scalar, {1}) : scalar;
}

std::optional<Element> TripsOf(const Node& node, const Tensor& limit) {
  if (!limit) return std::nullopt;
  const Tensor scalar = node.ScalarOf(limit);
  const auto parts = node.builder().Parts(scalar);
  if (!parts || parts->size() != 1) Fail(std::string("its trip count is of type ") + NameOf(limit.dtype()));
  return (*parts)[0];
}

// A Loop's states: those that the body returns unchanged are none, and what is known of them is known inside.
struct LoopStates {
  std::vector<size_t> kept, changed;
  std::set<size_t> unread;  // places in `changed` of states that the body does not read
};

LoopStates StatesOf(const GraphProto& body, size_t count) {
  std::set<std::string_view> read;
  for (const NodeProto& node : body.nodes) {
    const std::vector<std::string_view> names = ReadsOf(node);
    read.insert(names.begin(), names.end());
  }
  for (const ValueInfo& output : body.outputs) read.insert(output.name);
  LoopStates states;
  for (size_t i = 0; i < count; ++i) {
    const std::string_view state = body.inputs[2 + i].name;
    const bool kept = Returns(body, body.outputs[1 + i].name, state);
    if (!kept && !read.contains(state)) states.unread.insert(states.changed.size());
    (kept ? states.kept : states.changed).push_back(i);
  }
  return states;
}

void CheckLoopBody(const Node& node, const GraphProto& body, size_t count) {
  const bool fits = body.inputs.size() == 2 + count && body.outputs.size() >= 1 + count &&
                    node.outputs() < static_cast<int64_t>(body.outputs.size());
  if (fits) return;
  Fail("its body has " + std::to_string(body.inputs.size()) + " inputs and " + std::to_string(body.outputs.size()) +
       " outputs for " + std::to_string(count) + " states");
}

// The states after the last iteration, and the rows of all.
Tensors RunLoop(const Node& node, const GraphProto& given, const Tensors& initial) {
  const Place place = PlaceOf(node);
  const Nesting nesting = Inside(place, RegionKind::kLoop);
  const LoopStates states = StatesOf(given, initial.size());
  Scope around(&node.scope()), kept;
  for (size_t i : states.kept) kept.Set(given.inputs[2 + i].name, initial[i]);
  const GraphProto body = WithoutInvariantMatmuls(node, given, kept, around);
  const std::vector<std::string_view> names = NamesReadBy({&body});
  std::vector<NamedTensor> seen = Found(names, around);
  for (size_t i : states.kept) seen.push_back({std::string(body.inputs[2 + i].name), initial[i]});
  std::vector<std::string> labels = {std::string(body.inputs[0].name)};
  Tensors changed;
  for (size_t i : states.changed) {
    labels.emplace_back(body.inputs[2 + i].name);
    changed.push_back(initial[i]);
  }
  const auto build = [&](Region& region, const Tensors& captured, const Tensor& iteration, const Tensors& before) {
    Scope scope;
    const Tensor going = region.builder().Scalar(DType::kBool, 1);
    scope.Set(body.inputs[0].name, InRankOf(body.inputs[0], iteration));
    scope.Set(body.inputs[1].name, InRankOf(body.inputs[1], going));
    for (size_t i = 0; i < states.kept.size(); ++i) {
      scope.Set(body.inputs[2 + states.kept[i]].name, captured[names.size() + i]);
    }
    for (size_t i = 0; i < before.size(); ++i) scope.Set(body.inputs[2 + states.changed[i]].name, before[i]);
    const Tensors outputs = ImportInto(region, place, nesting, body, names, captured, scope);
    LoopStep step{outputs[0], {}, {}};
    for (size_t i : states.changed) step.states.push_back(outputs[1 + i]);
    for (size_t i = 1 + initial.size(); i < outputs.size(); ++i) step.rows.push_back(outputs[i]);
    return step;
  };
  const Closure closure(node.builder(), std::move(seen), changed);
  const Tensor condition = node[1] ? node.ScalarOf(node[1]) : Tensor();
  const LoopResults results = frontend::AppendLoop(
      {closure, std::move(labels), changed, build, TripsOf(node, node[0]), condition, {}, states.unread});
  Tensors outputs = initial;
  for (size_t i = 0; i < results.states.size(); ++i) outputs[states.changed[i]] = results.states[i];
  outputs.insert(outputs.end(), results.rows.begin(), results.rows.end());
  return outputs;
}

bool IsSequence(const Tensor& tensor) { return tensor && tensor.sequence() != nullptr; }

// A loop of `trips` iterations, one after the other in the graph around it: states may be sequences. nullopt if data
// decides when it ends.
std::optional<Tensors> UnrolledLoop(const Node& node, const GraphProto& body, Tensors states, int64_t trips) {
  const size_t count = states.size();
  Tensor going = node[1];
  std::vector<Tensors> rows(body.outputs.size() - 1 - count);
  for (int64_t i = 0; i < trips; ++i) {
    const std::optional<bool> decided = going ? Decided(node, node.ScalarOf(going)) : true;
    if (!decided) return std::nullopt;
    if (!*decided) break;
    const SubgraphImport counted(node.importer().model(), static_cast<uint64_t>(i));
    Scope scope(&node.scope());
    const Tensor iteration = node.builder().Of({Dim(i)}, DType::kI64, {});
    scope.Set(body.inputs[0].name, InRankOf(body.inputs[0], iteration));
    scope.Set(body.inputs[1].name, InRankOf(body.inputs[1], node.builder().Scalar(DType::kBool, 1)));
    for (size_t s = 0; s < count; ++s) scope.Set(body.inputs[2 + s].name, states[s]);
    const Tensors outputs = node.importer().ImportSubgraph(body, node.opsets(), scope, node.depth() + 1);
    going = outputs[0];
    std::copy(outputs.begin() + 1, outputs.begin() + 1 + static_cast<int64_t>(count), states.begin());
    for (size_t r = 0; r < rows.size(); ++r) {
      rows[r].push_back(frontend::InsertAxis(outputs[1 + count + r], 0));
    }
  }
  for (const Tensors& stacked : rows) {
    if (stacked.empty()) frontend::Unsupported("its states are sequences, and it has rows but no iteration");
    states.push_back(frontend::Concat(stacked, 0).With(stacked[0].narrow()));
  }
  return states;
}

// The node of `graph` that appends to sequence `state`, if nothing else reads that or the result, `output`.
const NodeProto* AppendTo(const GraphProto& graph, std::string_view state, std::string_view output) {
  const NodeProto* append = nullptr;
  for (const NodeProto& node : graph.nodes) {
    const std::vector<std::string_view> reads = ReadsOf(node);
    if (std::find(reads.begin(), reads.end(), output) != reads.end()) return nullptr;
    if (std::find(reads.begin(), reads.end(), state) == reads.end()) continue;
    const bool at_end = node.inputs.size() == 2 || (node.inputs.size() == 3 && node.inputs[2].empty());
    const bool appends = node.domain.empty() && node.op_type == "SequenceInsert" && at_end && node.inputs[0] == state &&
                         node.inputs[1] != state && node.outputs.size() == 1 && node.outputs[0] == output;
    if (!appends || append != nullptr) return nullptr;
    append = &node;
  }
  return append;
}

// A loop that appends one tensor to each of its sequences, empty before, in every iteration: the tensors are rows.
Tensors AppendingLoop(const Node& node, const GraphProto& body, const Tensors& initial) {
  GraphProto rewritten;
  rewritten.name = body.name;
  rewritten.initializers = body.initializers;
  rewritten.has_sparse_initializers = body.has_sparse_initializers;
  rewritten.inputs.assign(body.inputs.begin(), body.inputs.begin() + 2);
  rewritten.outputs.assign(body.outputs.begin(), body.outputs.begin() + 1);
  std::set<const NodeProto*> appends;
  std::vector<ValueInfo> appended;
  Tensors tensors;
  for (size_t i = 0; i < initial.size(); ++i) {
    if (!IsSequence(initial[i])) {
      rewritten.inputs.push_back(body.inputs[2 + i]);
      rewritten.outputs.push_back(body.outputs[1 + i]);
      tensors.push_back(initial[i]);
      continue;
    }
    const NodeProto* append = AppendTo(body, body.inputs[2 + i].name, body.outputs[1 + i].name);
    const frontend::Sequence& before = *initial[i].sequence();
    if (append == nullptr || before.rows || !before.items.empty()) {
      frontend::Unsupported(
          "state \"" + std::string(body.inputs[2 + i].name) +
          "\" is a sequence, and the number of iterations is not fixed; it may only be empty before the "
          "loop, and get one tensor at its end in each iteration");
    }
    appends.insert(append);
    appended.emplace_back().name = append->inputs[1];
  }
  for (const NodeProto& inner : body.nodes) {
    if (!appends.contains(&inner)) rewritten.nodes.push_back(inner);
  }
  rewritten.outputs.insert(rewritten.outputs.end(), body.outputs.begin() + 1 + static_cast<int64_t>(initial.size()),
                           body.outputs.end());
  rewritten.outputs.insert(rewritten.outputs.end(), appended.begin(), appended.end());
  const Tensors results = RunLoop(node, rewritten, tensors);
  bool keeps_shapes = true;
  for (size_t i = 0; i < tensors.size(); ++i) keeps_shapes = keeps_shapes && results[i].shape() == tensors[i].shape();
  Tensors outputs;
  auto tensor = results.begin(), row = results.end() - static_cast<int64_t>(appended.size());
  const auto rows = row;
  for (const Tensor& state : initial) {
    if (!IsSequence(state)) {
      outputs.push_back(*tensor++);
      continue;
    }
    // The items of a sequence may differ in shape, rows may not.
    for (int d = 1; d < row->rank(); ++d) {
      for (const Dim& symbol : node.dims().Symbols(row->dim(d))) {
        if (keeps_shapes && node.importer().SizesInputs(symbol)) continue;
        frontend::Unsupported(
            "the number of iterations is not fixed, and the tensors that it appends may differ in shape");
      }
    }
    outputs.push_back(node.builder().OfSequence({{}, *row}, row->dtype()));
    ++row;
  }
  outputs.insert(outputs.end(), tensor, rows);
  return outputs;
}

Tensors Loop(const Node& node) {
  const GraphProto& body = node.Graph("body");
  const Tensors initial(node.all().begin() + std::min(node.inputs(), 2), node.all().end());
  CheckLoopBody(node, body, initial.size());
  const auto reads_sequence = [&](std::string_view name) {
    const Tensor* tensor = node.scope().Find(name);
    return tensor != nullptr && IsSequence(*tensor);
  };
  const bool holds = std::any_of(initial.begin(), initial.end(), IsSequence);
  const std::vector<std::string_view> reads = NamesReadBy({&body});
  if (!holds && std::none_of(reads.begin(), reads.end(), reads_sequence)) return RunLoop(node, body, initial);
  const std::optional<Element> trips = TripsOf(node, node[0]);
  if (trips && trips->is_number()) {
    if (const auto unrolled = UnrolledLoop(node, body, initial, trips->dim.number())) return *unrolled;
  }
  return AppendingLoop(node, body, initial);
}

// ---- Scan

// One entry for each scanned operand or result. Directions: 1 is from the last to the first.
struct ScanOptions {
  std::vector<int64_t> input_axes, input_directions, output_axes, output_directions;
};

// An attribute with one integer for each of `count`; 0 by default.
std::vector<int64_t> Each(const Node& node, const char* name, size_t count) {
  std::vector<int64_t> values = node.Ints(name, std::vector<int64_t>(count, 0));
  if (values.size() != count) {
    Fail(std::string(name) + " has " + std::to_string(values.size()) + " entries, not " + std::to_string(count));
  }
  return values;
}

// The number of states, for `operands` states and scanned operands.
size_t ScanStates(const Node& node, size_t operands) {
  const GraphProto& body = node.Graph("body");
  const int64_t scanned = node.Int("num_scan_inputs");
  const bool fits = scanned >= 1 && scanned <= static_cast<int64_t>(operands) && operands == body.inputs.size() &&
                    body.outputs.size() >= operands - static_cast<size_t>(scanned) &&
                    node.outputs() <= static_cast<int64_t>(body.outputs.size());
  if (fits) return operands - static_cast<size_t>(scanned);
  Fail("its body has " + std::to_string(body.inputs.size()) + " inputs and " + std::to_string(body.outputs.size()) +
       " outputs for " + std::to_string(operands) + " operands, " + std::to_string(scanned) + " of them scanned");
}

// A stack of rows along another axis than the first.
Tensor Moved(const Node& node, const Tensor& rows, int64_t axis) {
  return frontend::MoveAxis(rows, 0, node.Axis(axis, rows.rank()));
}

// The size of the scanned axes.
Dim ScanLength(const Node& node, const Tensors& scanned, std::vector<int64_t>* axes) {
  std::optional<Dim> length;
  for (size_t i = 0; i < scanned.size(); ++i) {
    (*axes)[i] = node.Axis((*axes)[i], scanned[i].rank());
    const Dim& dim = scanned[i].dim(static_cast<int>((*axes)[i]));
    if (!length) length = dim;
    if (*length != dim) scanned[i].builder().dims().AssumeEqual(*length, dim);
  }
  return *length;
}

// One scan. `node` gives the body; `place`, to whose builder the operands belong, is where it is appended.
Tensors ScanAt(const Node& node, const Place& place, const Tensors& operands, ScanOptions options) {
  const Nesting nesting = Inside(place, RegionKind::kLoop);
  const GraphProto& body = node.Graph("body");
  const size_t count = ScanStates(node, operands.size());
  const Tensors states(operands.begin(), operands.begin() + static_cast<int64_t>(count));
  const Tensors scanned(operands.begin() + static_cast<int64_t>(count), operands.end());
  const Dim length = ScanLength(node, scanned, &options.input_axes);
  const std::vector<std::string_view> names = NamesReadBy({&body});
  std::vector<NamedTensor> seen = Found(names, place.scope);
  std::vector<std::string> labels = {"iteration"};
  for (size_t i = 0; i < count; ++i) labels.emplace_back(body.inputs[i].name);
  for (size_t i = 0; i < scanned.size(); ++i) seen.push_back({std::string(body.inputs[count + i].name), scanned[i]});
  const auto build = [&](Region& region, const Tensors& captured, const Tensor& iteration, const Tensors& before) {
    Scope scope;
    for (size_t i = 0; i < count; ++i) scope.Set(body.inputs[i].name, before[i]);
    for (size_t i = 0; i < scanned.size(); ++i) {
      Tensor index = iteration;
      if (options.input_directions[i] != 0) {
        frontend::Dims& dims = region.builder().dims();
        index = region.builder().Number(dims.Sub(region.Inner(length), 1)) - iteration;
      }
      const Tensor& all = captured[names.size() + i];
      scope.Set(body.inputs[count + i].name, Gather(all, index, options.input_axes[i]).With(all.narrow()));
    }
    const Tensors outputs = ImportInto(region, place, nesting, body, names, captured, scope);
    const auto rows = outputs.begin() + static_cast<int64_t>(count);
    return LoopStep{Tensor(), {outputs.begin(), rows}, {rows, outputs.end()}};
  };
  std::set<size_t> reversed;
  for (size_t i = 0; i < options.output_directions.size(); ++i) {
    if (options.output_directions[i] != 0) reversed.insert(i);
  }
  const Closure closure(place.importer.builder(), std::move(seen), states);
  const LoopResults results =
      frontend::AppendLoop({closure, std::move(labels), states, build, Element(length), {}, reversed});
  Tensors outputs = results.states;
  for (size_t i = 0; i < results.rows.size(); ++i) {
    outputs.push_back(Moved(node, results.rows[i], options.output_axes[i]));
  }
  return outputs;
}

Tensors Scan(const Node& node) {
  const size_t states = ScanStates(node, node.all().size());
  const size_t inputs = node.all().size() - states, outputs = node.Graph("body").outputs.size() - states;
  return ScanAt(node, PlaceOf(node), node.all(),
                {Each(node, "scan_input_axes", inputs), Each(node, "scan_input_directions", inputs),
                 Each(node, "scan_output_axes", outputs), Each(node, "scan_output_directions", outputs)});
}

// One scan for each batch: the first dim of every operand and result.
Tensors ScanBatches(const Node& node) {
  if (node[0]) frontend::Unsupported("lengths for each batch are not supported");
  const Place place = PlaceOf(node);
  const Nesting nesting = Inside(place, RegionKind::kLoop);
  const Tensors operands(node.all().begin() + std::min(node.inputs(), 1), node.all().end());
  const size_t states = ScanStates(node, operands.size());
  const size_t inputs = operands.size() - states, outputs = node.Graph("body").outputs.size() - states;
  const ScanOptions options = {std::vector<int64_t>(inputs, 0), Each(node, "directions", inputs),
                               std::vector<int64_t>(outputs, 0), std::vector<int64_t>(outputs, 0)};
  const std::vector<std::string_view> names = NamesReadBy({&node.Graph("body")});
  std::vector<NamedTensor> seen = Found(names, node.scope());
  const Dim batches = operands[0].dim(0);
  for (const Tensor& operand : operands) {
    if (operand.dim(0) != batches) node.dims().AssumeEqual(batches, operand.dim(0));
    seen.push_back({"operand", operand});
  }
  const auto build = [&](Region& region, const Tensors& captured, const Tensor& iteration, const Tensors&) {
    Scope scope;
    for (size_t i = 0; i < names.size(); ++i) scope.Set(names[i], captured[i]);
    Tensors entries;
    for (size_t i = 0; i < operands.size(); ++i) {
      const Tensor& all = captured[names.size() + i];
      entries.push_back(Gather(all, iteration, 0).With(all.narrow()));
    }
    GraphImporter importer(place.importer.model(), region.builder(), nesting);
    return LoopStep{Tensor(), {}, ScanAt(node, {importer, place.opsets, scope, place.depth + 1}, entries, options)};
  };
  const Closure closure(node.builder(), std::move(seen));
  return frontend::AppendLoop({closure, {"batch"}, {}, build, Element(batches), {}, {}}).rows;
}

constexpr OperatorRow kControlOperators[] = {
    {"", "If", 1, "cond", "outputs*", "else_branch:graph! then_branch:graph!", If},
    {"", "Loop", 1, "M? cond? v_initial*", "v_final_and_scan_outputs*", "body:graph!", Loop,
     OperatorRow::Narrow::kRefuses, /*takes_sequences=*/true},
    {"", "Scan", 8, "sequence_lens? initial_state_and_scan_inputs*", "final_state_and_scan_outputs*",
     "body:graph! directions:ints num_scan_inputs:int!", ScanBatches},
    {"", "Scan", 9, "initial_state_and_scan_inputs*", "final_state_and_scan_outputs*",
     "body:graph! num_scan_inputs:int! scan_input_axes:ints scan_input_directions:ints scan_output_axes:ints "
     "scan_output_directions:ints",
     Scan},
};

}  // namespace

std::span<const OperatorRow> ControlOperators() { return kControlOperators; }

}  // namespace tailor::onnx
