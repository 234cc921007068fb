// Graphs inside a loop or branch while they are built, and what they see of the graph around them.
#ifndef TAILOR_BINDINGS_FRONTEND_REGION_H_
#define TAILOR_BINDINGS_FRONTEND_REGION_H_

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "bindings/frontend/builder.h"
#include "bindings/frontend/tensor.h"

namespace tailor::frontend {

struct NamedTensor {
  std::string name;
  Tensor tensor;  // may be absent
};

// The outer tensors that the regions of one loop or branch read. Constants become constants of the regions. Computed
// tensors are operands; so is an empty tensor with the symbols that no other operand has as a dim.
class Closure {
 public:
  // `states`: tensors that a loop changes; regions see only the symbols of their dims.
  Closure(Builder& builder, std::vector<NamedTensor> tensors, const std::vector<Tensor>& states = {});

  Builder& builder() const { return builder_; }
  const std::vector<NamedTensor>& tensors() const { return tensors_; }
  const std::vector<Dim>& symbols() const { return symbols_; }  // each once
  const Sources& sources() const { return sources_; }           // of all tensors and states

 private:
  Builder& builder_;
  std::vector<NamedTensor> tensors_;
  std::vector<Dim> symbols_;
  Sources sources_;
};

// A graph inside. Its symbols are its own, with the names and ranges of the closure's.
class Region {
 public:
  // `closure` outlives the region.
  Region(const Closure& closure, const std::string& name);
  Region(const Region&) = delete;

  Builder& builder() { return builder_; }
  Builder& outer_builder() const { return closure_.builder(); }
  // A dim of the outer graph as one of the region's. Its symbols are the closure's.
  Dim Inner(const Dim& outer);
  // A dim of the region as one of the outer graph's; nullopt if only the region knows it.
  std::optional<Dim> Outer(const Dim& inner);

  // Appends an input; its name is made unique.
  Tensor Input(const std::string& name, DType dtype, const Shape& shape, const Sources& sources);
  // The closure's tensors inside, in their order. Called once, after the inputs for states.
  std::vector<Tensor> Capture();
  // The run state around the region; captured when its builder is first asked for one.
  RunState CaptureRunState();
  const std::vector<NamedTensor>& inputs() const { return inputs_; }
  // The operands of the inputs that were captured.
  const std::vector<Tensor>& captured() const { return captured_; }

  struct Twin {
    std::unique_ptr<Builder> builder;
    std::vector<Tensor> inputs;
  };
  // Another graph with these inputs.
  Twin Alike(const std::string& name);

 private:
  Tensor Captured(const std::string& name, const Tensor& outer);
  Tensor CapturedValue(const std::string& name, const Tensor& outer);
  void CaptureHiddenSymbols();

  const Closure& closure_;
  Builder builder_;
  std::vector<Dim> symbols_;  // of the closure's, in their order
  std::vector<NamedTensor> inputs_;
  std::map<std::string, int> names_;  // number of inputs, by the name that was asked for
  std::vector<Tensor> captured_;
  std::map<tailor_value, Tensor> values_;  // inputs of captured values
};

// Appends a branch: the results of one of two regions of the same closure. Fails if their types or ranks differ.
std::vector<Tensor> AppendIf(const Tensor& condition, Region& then_region, const std::vector<Tensor>& then_results,
                             Region& else_region, const std::vector<Tensor>& else_results);

}  // namespace tailor::frontend

#endif  // TAILOR_BINDINGS_FRONTEND_REGION_H_
