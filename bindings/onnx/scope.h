// Tensors by name, as the nodes of a graph see them. A subgraph's scope lies within the one around it.
#ifndef TAILOR_BINDINGS_ONNX_SCOPE_H_
#define TAILOR_BINDINGS_ONNX_SCOPE_H_

#include <string_view>
#include <unordered_map>

#include "bindings/frontend/tensor.h"

namespace tailor::onnx {

class Scope {
 public:
  explicit Scope(const Scope* around = nullptr) : around_(around) {}

  // The tensor, or nullptr. An absent optional value is an empty tensor.
  const frontend::Tensor* Find(std::string_view name) const {
    for (const Scope* scope = this; scope != nullptr; scope = scope->around_) {
      const auto found = scope->tensors_.find(name);
      if (found != scope->tensors_.end()) return &found->second;
    }
    return nullptr;
  }
  // `name` outlives the scope: it lies in the model's bytes.
  void Set(std::string_view name, frontend::Tensor tensor) { tensors_[name] = std::move(tensor); }
  void Erase(std::string_view name) { tensors_.erase(name); }
  const std::unordered_map<std::string_view, frontend::Tensor>& own() const { return tensors_; }

 private:
  const Scope* around_;
  std::unordered_map<std::string_view, frontend::Tensor> tensors_;
};

}  // namespace tailor::onnx

#endif  // TAILOR_BINDINGS_ONNX_SCOPE_H_
