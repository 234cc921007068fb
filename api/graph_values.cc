// Glue of tailor/compiler.h: a graph, its inputs, constants and outputs, and the types of values.
#include <memory>

#include "absl/strings/str_cat.h"
#include "api/compiler_arguments.h"
#include "api/graph_addition.h"
#include "graph/builders.h"
#include "graph/status_macros.h"

namespace tailor {
namespace {

// The bytes of a borrowed constant; `released(user)` is called when the last copy is destroyed, also if this function
// throws.
std::shared_ptr<const void> Borrow(const void* data, void (*released)(void*), void* user) {
  return {data, [released, user](const void*) { released(user); }};
}

std::shared_ptr<const void> CopyBytes(const void* data, size_t size) {
  constexpr std::align_val_t kAlignment{64};
  void* bytes = ::operator new(size, kAlignment);
  if (size > 0) std::memcpy(bytes, data, size);
  return {bytes, [](const void* copy) { ::operator delete (const_cast<void*>(copy), std::align_val_t{64}); }};
}

// True if `size` is the byte size of a tensor with these dims.
bool SizeFits(DType dtype, const int64_t* dims, size_t rank, size_t size) {
  uint64_t bytes = SizeOf(dtype);
  for (size_t i = 0; i < rank; ++i) {
    if (dims[i] < 0 || __builtin_mul_overflow(bytes, static_cast<uint64_t>(dims[i]), &bytes)) return false;
  }
  return bytes == size;
}

absl::StatusOr<Shape> ConstantShape(const char* function, const int64_t* dims, size_t rank) {
  if (rank > 0) TAILOR_RETURN_IF_ERROR(CheckPresent(function, "dims", dims));
  if (rank > TAILOR_MAX_RANK) {
    return absl::InvalidArgumentError(absl::StrCat(function, ": rank ", rank, " is more than ", TAILOR_MAX_RANK));
  }
  return Shape(dims, dims + rank);
}

absl::Status CheckBytes(const char* function, DType dtype, const void* data, size_t size) {
  if (size > 0) TAILOR_RETURN_IF_ERROR(CheckPresent(function, "data", data));
  if (reinterpret_cast<uintptr_t>(data) % SizeOf(dtype) == 0) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(function, ": \"data\" is not aligned to ", NameOf(dtype)));
}

}  // namespace
}  // namespace tailor

using tailor::AtBoundary;
using tailor::CheckGraph;
using tailor::CheckPresent;
using tailor::Value;

tailor_status* tailor_graph_create(const char* name, size_t name_size, tailor_graph** out) {
  return AtBoundary([&]() -> absl::Status {
    constexpr const char* kFunction = "tailor_graph_create";
    TAILOR_RETURN_IF_ERROR(CheckPresent(kFunction, "out", out));
    TAILOR_ASSIGN_OR_RETURN(std::string text, tailor::ReadString(kFunction, "name", name, name_size));
    *out = new tailor_graph(tailor::Graph(std::move(text)));
    return absl::OkStatus();
  });
}

void tailor_graph_release(tailor_graph* graph) {
  if (!tailor::IsHandle(graph, tailor::HandleKind::kGraph)) return;
  if (graph->in_use.Release()) tailor_graph::Free(graph);
}

tailor_status* tailor_graph_input(tailor_graph* graph, const char* name, size_t name_size, int32_t dtype,
                                  const tailor_dim* dims, size_t rank, tailor_value* out) {
  constexpr const char* kFunction = "tailor_graph_input";
  return tailor::AddToGraph(kFunction, graph, [&]() -> absl::Status {
    TAILOR_RETURN_IF_ERROR(CheckPresent(kFunction, "out", out));
    TAILOR_ASSIGN_OR_RETURN(std::string text, tailor::ReadString(kFunction, "name", name, name_size));
    TAILOR_ASSIGN_OR_RETURN(tailor::DType type, tailor::ReadDType(kFunction, "dtype", dtype));
    TAILOR_ASSIGN_OR_RETURN(tailor::Shape shape, tailor::FindDims(*graph, kFunction, "dims", dims, rank));
    TAILOR_ASSIGN_OR_RETURN(Value value, graph->graph.AddInput(text, type, std::move(shape)));
    *out = tailor::NewValue(*graph, value);
    return absl::OkStatus();
  });
}

tailor_status* tailor_graph_output(tailor_graph* graph, const char* name, size_t name_size, tailor_value value) {
  return AtBoundary([&]() -> absl::Status {
    constexpr const char* kFunction = "tailor_graph_output";
    TAILOR_RETURN_IF_ERROR(CheckGraph(kFunction, graph));
    const tailor::Writer<tailor_graph> writer(*graph);
    TAILOR_RETURN_IF_ERROR(tailor::CheckHeld(kFunction, *graph, writer));
    TAILOR_ASSIGN_OR_RETURN(std::string text, tailor::ReadString(kFunction, "name", name, name_size));
    TAILOR_ASSIGN_OR_RETURN(Value found, tailor::FindValue(*graph, kFunction, "value", value));
    TAILOR_RETURN_IF_ERROR(graph->graph.AddOutput(text, found));
    graph->output_count.store(graph->graph.outputs().size(), std::memory_order_relaxed);
    return absl::OkStatus();
  });
}

size_t tailor_graph_output_count(const tailor_graph* graph) {
  return tailor::IsHandle(graph, tailor::HandleKind::kGraph) ? graph->output_count.load(std::memory_order_relaxed) : 0;
}

tailor_status* tailor_graph_constant(tailor_graph* graph, const char* name, size_t name_size, int32_t dtype,
                                     const int64_t* dims, size_t rank, const void* data, size_t size,
                                     void (*released)(void* user), void* user, tailor_value* out) {
  constexpr const char* kFunction = "tailor_graph_constant";
  return AtBoundary([&]() -> tailor_status* {
    tailor::ConstantData bytes{nullptr, data, size, {}};
    if (released != nullptr) bytes.owner = tailor::Borrow(data, released, user);
    return tailor::AddToGraph(kFunction, graph, [&]() -> absl::Status {
      TAILOR_RETURN_IF_ERROR(CheckPresent(kFunction, "out", out));
      TAILOR_ASSIGN_OR_RETURN(std::string text, tailor::ReadString(kFunction, "name", name, name_size));
      TAILOR_ASSIGN_OR_RETURN(tailor::DType type, tailor::ReadDType(kFunction, "dtype", dtype));
      TAILOR_ASSIGN_OR_RETURN(tailor::Shape shape, tailor::ConstantShape(kFunction, dims, rank));
      TAILOR_RETURN_IF_ERROR(tailor::CheckBytes(kFunction, type, data, size));
      if (released == nullptr && tailor::SizeFits(type, dims, rank, size)) {  // AddConstant rejects other sizes
        bytes.owner = tailor::CopyBytes(data, size);
        bytes.data = bytes.owner.get();
      }
      TAILOR_ASSIGN_OR_RETURN(Value value, graph->graph.AddConstant(text, type, std::move(shape), std::move(bytes)));
      *out = tailor::NewValue(*graph, value);
      return absl::OkStatus();
    });
  });
}

tailor_status* tailor_graph_scalar(tailor_graph* graph, int32_t dtype, double value, tailor_value* out) {
  constexpr const char* kFunction = "tailor_graph_scalar";
  return tailor::AddToGraph(kFunction, graph, [&]() -> absl::Status {
    TAILOR_RETURN_IF_ERROR(CheckPresent(kFunction, "out", out));
    TAILOR_ASSIGN_OR_RETURN(tailor::DType type, tailor::ReadDType(kFunction, "dtype", dtype));
    TAILOR_ASSIGN_OR_RETURN(Value scalar, tailor::ScalarConstant(graph->graph, type, value));
    *out = tailor::NewValue(*graph, scalar);
    return absl::OkStatus();
  });
}

tailor_status* tailor_graph_set_name(tailor_graph* graph, tailor_value value, const char* name, size_t name_size) {
  return AtBoundary([&]() -> absl::Status {
    constexpr const char* kFunction = "tailor_graph_set_name";
    TAILOR_RETURN_IF_ERROR(CheckGraph(kFunction, graph));
    const tailor::Writer<tailor_graph> writer(*graph);
    TAILOR_RETURN_IF_ERROR(tailor::CheckHeld(kFunction, *graph, writer));
    TAILOR_ASSIGN_OR_RETURN(std::string text, tailor::ReadString(kFunction, "name", name, name_size));
    TAILOR_ASSIGN_OR_RETURN(Value found, tailor::FindValue(*graph, kFunction, "value", value));
    graph->graph.SetNodeName(found.node, text);
    return absl::OkStatus();
  });
}

tailor_status* tailor_graph_value_type(tailor_graph* graph, tailor_value value, int32_t* dtype, int32_t* rank,
                                       tailor_dim* dims) {
  return AtBoundary([&]() -> absl::Status {
    constexpr const char* kFunction = "tailor_graph_value_type";
    TAILOR_RETURN_IF_ERROR(CheckGraph(kFunction, graph));
    const tailor::Writer<tailor_graph> writer(*graph);
    TAILOR_RETURN_IF_ERROR(tailor::CheckHeld(kFunction, *graph, writer));
    TAILOR_ASSIGN_OR_RETURN(Value found, tailor::FindValue(*graph, kFunction, "value", value));
    const tailor::TensorType& type = graph->graph.type(found);
    tailor_dim handles[TAILOR_MAX_RANK];
    for (int i = 0; i < type.rank(); ++i) handles[i] = tailor::NewDim(*graph, type.shape[i]);
    if (dtype != nullptr) *dtype = static_cast<int32_t>(type.dtype);
    if (rank != nullptr) *rank = type.rank();
    if (dims != nullptr) std::copy_n(handles, type.rank(), dims);
    return absl::OkStatus();
  });
}
