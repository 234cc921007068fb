// The object behind tailor_graph, and the checks of its value and dim handles.
//
// Every graph draws two serial numbers, one for its values and one for its dims. They detect values of another graph,
// dims passed as values, and arbitrary numbers.
#ifndef TAILOR_API_GRAPH_HANDLE_H_
#define TAILOR_API_GRAPH_HANDLE_H_

#include <atomic>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "api/dim_facts.h"
#include "api/handle.h"
#include "api/in_use.h"
#include "graph/graph.h"
#include "tailor/compiler.h"

struct tailor_graph {
  explicit tailor_graph(tailor::Graph built);

  static void Free(tailor_graph* graph);

  tailor::HandleKind kind = tailor::HandleKind::kGraph;
  tailor::InUse in_use;
  std::atomic<size_t> output_count;  // number of outputs of `graph`, readable during any call
  const uint32_t value_serial;
  const uint32_t dim_serial;
  tailor::Graph graph;
  std::vector<tailor::Value> values;              // by index of tailor_value
  std::vector<tailor::DimExpr> dims;              // by index of tailor_dim, without repeats
  std::map<tailor::DimExpr, uint32_t> dim_index;  // index in `dims`; a failed insertion leaves it unchanged
  std::string text;                               // result of the last text function
  std::unique_ptr<tailor::DimFacts> dim_facts;    // of the last query, or null
};

namespace tailor {

// INVALID_ARGUMENT if `graph` is null or another kind of handle.
absl::Status CheckGraph(const char* function, const tailor_graph* graph);
// FAILED_PRECONDITION if `writer` or `reader` does not hold the graph, because another call uses it (api/in_use.h).
absl::Status CheckHeld(const char* function, const tailor_graph& graph, const Writer<tailor_graph>& writer);
absl::Status CheckHeld(const char* function, const tailor_graph& graph, const Reader<tailor_graph>& reader);
// INVALID_ARGUMENT if a required pointer is null.
absl::Status CheckPresent(const char* function, const char* name, const void* pointer);

// `name` is the parameter's name. Errors state it and the kind of the number passed.
absl::StatusOr<Value> FindValue(const tailor_graph& graph, const char* function, absl::string_view name,
                                tailor_value value);
absl::StatusOr<DimExpr> FindDim(const tailor_graph& graph, const char* function, absl::string_view name,
                                tailor_dim dim);
absl::StatusOr<Shape> FindDims(const tailor_graph& graph, const char* function, absl::string_view name,
                               const tailor_dim* dims, size_t count);

tailor_value NewValue(tailor_graph& graph, Value value);
tailor_dim NewDim(tailor_graph& graph, const DimExpr& dim);

}  // namespace tailor

#endif  // TAILOR_API_GRAPH_HANDLE_H_
