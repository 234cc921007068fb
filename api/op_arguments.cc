#include "api/op_arguments.h"

#include "absl/strings/str_cat.h"
#include "api/graph_addition.h"
#include "graph/status_macros.h"

namespace tailor {
namespace {

// Above any valid count: a larger one is a mistake in the call.
constexpr size_t kMaxCount = 1 << 20;

}  // namespace

void OpArguments::Operand(absl::string_view name, tailor_value value) {
  Value operand;
  if (Take(FindValue(graph_, op_, name, value), &operand)) operands_.push_back(operand);
}

void OpArguments::Operands(absl::string_view name, const tailor_value* values, size_t count) {
  if (!Readable(name, values, count)) return;
  for (size_t i = 0; i < count; ++i) Operand(absl::StrCat(name, "[", i, "]"), values[i]);
}

void OpArguments::I64s(absl::string_view name, const int64_t* values, size_t count) {
  if (Readable(name, values, count)) Set(name, std::vector<int64_t>(values, values + count));
}

void OpArguments::ElementType(absl::string_view name, int32_t dtype) {
  DType type;
  if (Take(ReadDType(op_, name, dtype), &type)) Set(name, type);
}

void OpArguments::Dims(absl::string_view name, const tailor_dim* dims, size_t count) {
  Shape shape;
  if (Take(FindDims(graph_, op_, name, dims, count), &shape)) Set(name, std::move(shape));
}

void OpArguments::String(absl::string_view name, const char* data, size_t size) {
  std::string text;
  if (Take(ReadString(op_, name, data, size), &text)) Set(name, std::move(text));
}

absl::StatusOr<NodeId> OpArguments::AppendTo(Graph& graph, OpKind op) {
  TAILOR_RETURN_IF_ERROR(status_);
  return graph.Append(op, operands_, std::move(attributes_));
}

void OpArguments::Set(absl::string_view name, Attribute value) {
  attributes_.insert_or_assign(std::string(name), std::move(value));
}

bool OpArguments::Readable(absl::string_view name, const void* array, size_t count) {
  if (!status_.ok()) return false;
  if (count > kMaxCount) {
    status_ = absl::InvalidArgumentError(absl::StrCat(op_, ": ", name, " has ", count, " entries"));
  } else if (count > 0) {
    status_ = CheckPresent(op_, std::string(name).c_str(), array);
  }
  return status_.ok();
}

tailor_status* AppendOp(tailor_graph* graph, OpKind op, tailor_value* out,
                        absl::FunctionRef<void(OpArguments&)> collect) {
  const char* name = InfoOf(op).text.data();
  return AddToGraph(name, graph, [&]() -> absl::Status {
    TAILOR_RETURN_IF_ERROR(CheckPresent(name, "out", out));
    OpArguments arguments(*graph, name);
    collect(arguments);
    TAILOR_ASSIGN_OR_RETURN(NodeId node, arguments.AppendTo(graph->graph, op));
    *out = NewValue(*graph, {node, 0});
    return absl::OkStatus();
  });
}

}  // namespace tailor
