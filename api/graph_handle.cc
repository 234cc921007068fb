#include "api/graph_handle.h"

#include <atomic>

#include "absl/strings/str_cat.h"
#include "api/compiler_status.h"
#include "graph/status_macros.h"

namespace {

std::atomic<uint32_t> next_serial{1};

uint32_t SerialOf(uint64_t handle) { return static_cast<uint32_t>(handle >> 32); }
uint64_t Handle(uint32_t serial, size_t index) { return uint64_t{serial} << 32 | (index + 1); }

// Index into a table of `size` entries, or -1.
int64_t IndexOf(uint64_t handle, uint32_t serial, size_t size) {
  uint64_t number = handle & UINT32_MAX;
  return SerialOf(handle) == serial && number >= 1 && number <= size ? static_cast<int64_t>(number - 1) : -1;
}

}  // namespace

tailor_graph::tailor_graph(tailor::Graph built)
    : output_count(built.outputs().size()),
      value_serial(next_serial.fetch_add(2)),
      dim_serial(value_serial + 1),
      graph(std::move(built)) {}

void tailor_graph::Free(tailor_graph* graph) {
  graph->kind = tailor::HandleKind::kReleased;
  delete graph;
}

namespace tailor {

absl::Status CheckGraph(const char* function, const tailor_graph* graph) {
  return FromC(CheckHandle(function, "graph", graph, HandleKind::kGraph));
}

absl::Status CheckHeld(const char* function, const tailor_graph& graph, const Writer<tailor_graph>& writer) {
  if (writer.held()) return absl::OkStatus();
  return FromC(HandleInUse(function, "graph", graph.in_use, "one call at a time changes a graph"));
}

absl::Status CheckHeld(const char* function, const tailor_graph& graph, const Reader<tailor_graph>& reader) {
  if (reader.held()) return absl::OkStatus();
  return FromC(HandleInUse(function, "graph", graph.in_use, "none reads a graph while one changes it"));
}

absl::Status CheckPresent(const char* function, const char* name, const void* pointer) {
  return FromC(CheckPointer(function, name, pointer));
}

absl::StatusOr<Value> FindValue(const tailor_graph& graph, const char* function, absl::string_view name,
                                tailor_value value) {
  int64_t index = IndexOf(value, graph.value_serial, graph.values.size());
  if (index >= 0) return graph.values[index];
  const char* what = value == 0                              ? "0, which is no value"
                     : SerialOf(value) == graph.dim_serial   ? "a dim, not a value"
                     : SerialOf(value) == graph.value_serial ? "no value of this graph"
                                                             : "a value of another graph";
  return absl::InvalidArgumentError(absl::StrCat(function, ": ", name, " is ", what));
}

absl::StatusOr<DimExpr> FindDim(const tailor_graph& graph, const char* function, absl::string_view name,
                                tailor_dim dim) {
  int64_t index = IndexOf(dim, graph.dim_serial, graph.dims.size());
  if (index >= 0) return graph.dims[index];
  const char* what = dim == 0                              ? "0, which is no dim"
                     : SerialOf(dim) == graph.value_serial ? "a value, not a dim"
                     : SerialOf(dim) == graph.dim_serial   ? "no dim of this graph"
                                                           : "a dim of another graph";
  return absl::InvalidArgumentError(absl::StrCat(function, ": ", name, " is ", what));
}

absl::StatusOr<Shape> FindDims(const tailor_graph& graph, const char* function, absl::string_view name,
                               const tailor_dim* dims, size_t count) {
  if (count > 0) TAILOR_RETURN_IF_ERROR(CheckPresent(function, std::string(name).c_str(), dims));
  if (count > TAILOR_MAX_RANK) {
    return absl::InvalidArgumentError(
        absl::StrCat(function, ": ", name, " has ", count, " dims, more than ", TAILOR_MAX_RANK));
  }
  Shape shape;
  for (size_t i = 0; i < count; ++i) {
    TAILOR_ASSIGN_OR_RETURN(DimExpr dim, FindDim(graph, function, absl::StrCat(name, "[", i, "]"), dims[i]));
    shape.push_back(std::move(dim));
  }
  return shape;
}

tailor_value NewValue(tailor_graph& graph, Value value) {
  graph.values.push_back(value);
  return Handle(graph.value_serial, graph.values.size() - 1);
}

tailor_dim NewDim(tailor_graph& graph, const DimExpr& dim) {
  auto known = graph.dim_index.find(dim);
  if (known != graph.dim_index.end()) return Handle(graph.dim_serial, known->second);
  graph.dims.push_back(dim);
  graph.dim_index.emplace(dim, graph.dims.size() - 1);
  return Handle(graph.dim_serial, graph.dims.size() - 1);
}

}  // namespace tailor
