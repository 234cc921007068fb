// Collects the C arguments of one op and appends it, for the generated functions of tailor/ops.h.
#ifndef TAILOR_API_OP_ARGUMENTS_H_
#define TAILOR_API_OP_ARGUMENTS_H_

#include <string>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "api/compiler_arguments.h"
#include "api/graph_handle.h"

namespace tailor {

// Keeps the first error and ignores later arguments.
class OpArguments {
 public:
  OpArguments(const tailor_graph& graph, const char* op) : graph_(graph), op_(op) {}

  void Operand(absl::string_view name, tailor_value value);
  void Operands(absl::string_view name, const tailor_value* values, size_t count);
  void I64(absl::string_view name, int64_t value) { Set(name, value); }
  void F64(absl::string_view name, double value) { Set(name, value); }
  void I64s(absl::string_view name, const int64_t* values, size_t count);
  void ElementType(absl::string_view name, int32_t dtype);
  void Dims(absl::string_view name, const tailor_dim* dims, size_t count);
  void String(absl::string_view name, const char* data, size_t size);
  template <typename Options>
  Options Given(const Options* options, void (*init)(Options*));

  absl::StatusOr<NodeId> AppendTo(Graph& graph, OpKind op);

 private:
  void Set(absl::string_view name, Attribute value);
  // True if there is no error yet and `array` has `count` readable entries.
  bool Readable(absl::string_view name, const void* array, size_t count);
  // Moves the value to `*target`, or keeps the error.
  template <typename T>
  bool Take(absl::StatusOr<T> value, T* target);

  const tailor_graph& graph_;
  const char* const op_;
  absl::Status status_;
  std::vector<Value> operands_;
  Attributes attributes_;
};

// Appends `op` with the arguments that `collect` adds; `*out` is its first result.
tailor_status* AppendOp(tailor_graph* graph, OpKind op, tailor_value* out,
                        absl::FunctionRef<void(OpArguments&)> collect);

template <typename Options>
Options OpArguments::Given(const Options* options, void (*init)(Options*)) {
  Options read;
  init(&read);
  Take(OptionsOrDefaults(op_, options, init), &read);
  return read;
}

template <typename T>
bool OpArguments::Take(absl::StatusOr<T> value, T* target) {
  if (!status_.ok()) return false;
  status_ = value.status();
  if (value.ok()) *target = *std::move(value);
  return value.ok();
}

}  // namespace tailor

#endif  // TAILOR_API_OP_ARGUMENTS_H_
