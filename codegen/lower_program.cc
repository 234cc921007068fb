// Assembles the host program: one launch per lowered kernel, buffers for the values between them.
#include <algorithm>
#include <cassert>
#include <map>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "codegen/build_host_program.h"

namespace tailor {
namespace {

class ProgramLowering {
 public:
  ProgramLowering(const Graph& graph, const ShapeFacts& facts) : graph_(graph), facts_(facts) {}

  absl::StatusOr<LoweredProgram> Run(const FusionPlan& plan) {
    HostProgram& host = result_.host;
    host.bindings.assign(facts_.bindings().begin(), facts_.bindings().end());
    host.checks.assign(facts_.checks().begin(), facts_.checks().end());
    host.shape_check_count = static_cast<int>(host.checks.size());
    for (const Output& output : graph_.outputs())
      host.output_dims.push_back(Canonical(graph_.type(output.value).shape));
    PlaceInputs();
    PlaceOutputs();
    for (int g = 0; g < static_cast<int>(plan.groups.size()); ++g) {
      auto kernels = LowerGroup(graph_, facts_, plan, g);
      if (!kernels.ok()) return kernels.status();
      packed_ = -1;  // packed blocks belong to one group
      for (LoweredKernel& kernel : *kernels) AddLaunch(std::move(kernel));
    }
    return std::move(result_);
  }

 private:
  using Place = HostBuffer::Place;

  Shape Canonical(const Shape& shape) const {
    Shape result;
    for (const DimExpr& dim : shape) result.push_back(facts_.Canonical(dim));
    return result;
  }

  int AddBuffer(Place place, int index, DType dtype, const Shape& shape) {
    result_.host.buffers.push_back({.place = place, .index = index, .dtype = dtype, .shape = Canonical(shape)});
    return static_cast<int>(result_.host.buffers.size()) - 1;
  }

  void PlaceInputs() {
    for (int i = 0; i < static_cast<int>(graph_.inputs().size()); ++i) {
      const Value v{graph_.inputs()[i], 0};
      buffer_of_[v] = AddBuffer(Place::kInput, i, graph_.type(v).dtype, graph_.type(v).shape);
    }
  }

  // Every output is a computed value of its own (the rewrites saw to it): its kernel writes there.
  void PlaceOutputs() {
    for (int i = 0; i < static_cast<int>(graph_.outputs().size()); ++i) {
      const Value v = graph_.outputs()[i].value;
      const bool added =
          buffer_of_.try_emplace(v, AddBuffer(Place::kOutput, i, graph_.type(v).dtype, graph_.type(v).shape)).second;
      assert(added && graph_.node(v.node).op != OpKind::kConstant);
      static_cast<void>(added);
    }
  }

  int ConstantBuffer(const LoweredKernel::Operand& operand) {
    const LoweredProgram::Constant constant{operand.value.node, operand.layout, operand.transpose};
    auto& constants = result_.constants;
    auto it = std::find(constants.begin(), constants.end(), constant);
    if (it != constants.end()) return constant_buffers_[it - constants.begin()];
    constants.push_back(constant);
    constant_buffers_.push_back(
        AddBuffer(Place::kConstant, static_cast<int>(constants.size()) - 1, operand.dtype, operand.shape));
    return constant_buffers_.back();
  }

  int BufferOf(const LoweredKernel::Operand& operand) {
    if (operand.packed >= 0) {
      if (packed_ < 0) packed_ = AddBuffer(Place::kWorkspace, workspace_blocks_++, operand.dtype, operand.shape);
      return packed_;
    }
    if (graph_.node(operand.value.node).op == OpKind::kConstant) return ConstantBuffer(operand);
    auto [it, added] = buffer_of_.try_emplace(operand.value, -1);
    if (added) it->second = AddBuffer(Place::kWorkspace, workspace_blocks_++, operand.dtype, operand.shape);
    return it->second;
  }

  int KernelIndex(KernelPlan plan) {
    auto [it, added] = kernel_of_.try_emplace(plan.Text(), static_cast<int>(result_.kernels.size()));
    if (added) result_.kernels.push_back(std::move(plan));
    return it->second;
  }

  // Operands become buffers; the launch's step number extends their lives.
  void AddLaunch(LoweredKernel kernel) {
    HostProgram& host = result_.host;
    const int step = static_cast<int>(host.launches.size());
    Launch launch{.name = kernel.plan.name};
    for (size_t i = 0; i < kernel.operands.size(); ++i) {
      const size_t known = host.buffers.size();
      const int id = BufferOf(kernel.operands[i]);
      if (static_cast<size_t>(id) >= known) host.buffers[id].first_step = step;
      host.buffers[id].last_step = step;
      launch.buffers.push_back(id);
    }
    for (const DimSlot& slot : kernel.plan.dims) launch.dims.push_back(slot.value);
    if (!kernel.faults.empty()) launch.first_fault_check = static_cast<int32_t>(host.checks.size());
    for (const LoweredKernel::Fault& fault : kernel.faults) {
      host.checks.push_back({.relation = ShapeCheck::Relation::kAtMost, .message = fault.message, .node = fault.node});
    }
    launch.kernel = KernelIndex(std::move(kernel.plan));
    host.launches.push_back(std::move(launch));
  }

  const Graph& graph_;
  const ShapeFacts& facts_;
  LoweredProgram result_;
  std::map<Value, int> buffer_of_;
  std::vector<int> constant_buffers_;
  int packed_ = -1;
  int workspace_blocks_ = 0;
  absl::flat_hash_map<std::string, int> kernel_of_;
};

}  // namespace

absl::StatusOr<LoweredProgram> LowerProgram(const Graph& graph, const ShapeFacts& facts, const FusionPlan& plan) {
  return ProgramLowering(graph, facts).Run(plan);
}

}  // namespace tailor
