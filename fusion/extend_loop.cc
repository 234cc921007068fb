#include "fusion/extend_loop.h"

#include <algorithm>
#include <vector>

#include "fusion/node_class.h"
#include "fusion/operand_map.h"
#include "graph/visits.h"

namespace tailor {
namespace {

template <typename T>
bool Contains(const std::vector<T>& sorted, const T& value) {
  return std::binary_search(sorted.begin(), sorted.end(), value);
}

template <typename T>
void AddSorted(const std::vector<T>& added, std::vector<T>* sorted) {
  for (const T& value : added) {
    const auto place = std::lower_bound(sorted->begin(), sorted->end(), value);
    if (place == sorted->end() || *place != value) sorted->insert(place, value);
  }
}

struct Extension {
  const FusionContext& context;
  const Uses& uses;
  const FusionGroup& producer;
  const FusionGroup& loop;

  // Whether dim d has axis d, for all axes of dim size != 1.
  bool CoversDomain(const std::vector<int>& axes) const {
    if (axes.size() != loop.axes.size()) return false;
    for (size_t d = 0; d < axes.size(); ++d) {
      if (axes[d] != static_cast<int>(d) && !ProvablyOne(context.facts, loop.axes[d].dim_size)) return false;
    }
    return true;
  }

  // Whether `loop` computes core node `id` at one index only.
  bool IsComputedOnce(NodeId id) const {
    return uses.core(id) && loop.axis_of.contains(id) && !Contains(loop.read_elsewhere, id);
  }

  bool IsReadElementwise(Value v) const {
    if (!Contains(loop.inputs, v)) return false;
    for (NodeId user : uses.users(v.node)) {
      if (!Contains(loop.nodes, user)) continue;
      if (!IsComputedOnce(user)) return false;
      const std::vector<Value>& operands = context.graph.node(user).operands;
      for (size_t i = 0; i < operands.size(); ++i) {
        if (operands[i].node == v.node && !IsReadAtItsIndex(user, static_cast<int>(i))) return false;
      }
    }
    const Shape& shape = context.graph.type(v).shape;  // of the domain, if `v` stays an output
    return shape.size() == loop.axes.size() && std::equal(shape.begin(), shape.end(), loop.axes.begin(),
                                                          [&](const DimExpr& dim_size, const GroupAxis& axis) {
                                                            return context.facts.ProvablyEqual(dim_size, axis.dim_size);
                                                          });
  }

  // Whether `v` has readers outside both loops.
  bool StaysOutput(Value v) const {
    const std::vector<NodeId>& readers = uses.readers(v.node);
    return uses.stored(v.node) || std::any_of(readers.begin(), readers.end(), [&](NodeId reader) {
             return !Contains(loop.nodes, reader) && !Contains(producer.nodes, reader);
           });
  }

  bool IsReadAtItsIndex(NodeId user, int operand) const {
    const OperandMap& map = context.maps.of(user, operand);
    if (!map.aligned() || map.replicates || !map.unproved.empty()) return false;
    std::vector<int> axes;
    for (int dim : map.dims) axes.push_back(dim < 0 ? kUnitDim : loop.axis_of.at(user)[dim]);
    return CoversDomain(axes);
  }

  bool AddsNoReplication() const {
    return std::all_of(producer.nodes.begin(), producer.nodes.end(), [&](NodeId id) {
      if (Contains(loop.nodes, id)) return false;
      if (IsFree(context.graph.node(id))) return true;
      const auto axes = producer.axis_of.find(id);
      return axes != producer.axis_of.end() && CoversDomain(axes->second);
    });
  }

  size_t Tensors() const {
    const auto added = std::count_if(producer.inputs.begin(), producer.inputs.end(),
                                     [&](Value v) { return !Contains(loop.inputs, v); });
    const auto kept =
        std::count_if(producer.outputs.begin(), producer.outputs.end(), [&](Value v) { return StaysOutput(v); });
    return loop.inputs.size() + loop.outputs.size() + static_cast<size_t>(added + kept) - producer.outputs.size();
  }

  bool Fits() const {
    if (producer.kind != GroupKind::kLoop || loop.kind != GroupKind::kLoop) return false;
    if (Tensors() > context.traits.max_kernel_tensors) return false;
    return std::all_of(producer.outputs.begin(), producer.outputs.end(),
                       [&](Value v) { return IsReadElementwise(v); }) &&
           AddsNoReplication();
  }
};

}  // namespace

bool ExtendLoop(const FusionContext& context, const Uses& uses, const FusionGroup& producer, FusionGroup& loop) {
  CountVisits(producer.nodes.size());
  const Extension extension{context, uses, producer, loop};
  if (!extension.Fits()) return false;
  std::vector<Value> outputs;
  for (Value v : producer.outputs) {
    if (extension.StaysOutput(v)) outputs.push_back(v);
    loop.inputs.erase(std::find(loop.inputs.begin(), loop.inputs.end(), v));
  }
  AddSorted(producer.inputs, &loop.inputs);
  AddSorted(outputs, &loop.outputs);
  AddSorted(producer.nodes, &loop.nodes);
  AddSorted(producer.read_elsewhere, &loop.read_elsewhere);
  loop.axis_of.insert(producer.axis_of.begin(), producer.axis_of.end());
  const Shape& shape = context.graph.type(loop.outputs.front()).shape;
  for (size_t d = 0; d < shape.size(); ++d) loop.axes[d].dim_size = shape[d];
  return true;
}

}  // namespace tailor
