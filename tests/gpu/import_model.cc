#include "tests/gpu/import_model.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "api/graph_handle.h"
#include "tailor/onnx.h"

namespace tailor {

absl::StatusOr<Graph> ImportModel(const NodeCase& node_case) {
  std::vector<tailor_onnx_fixed> fixed;
  for (const auto& [name, tensor] : node_case.fixed) {
    tailor_onnx_fixed& next = fixed.emplace_back();
    next = {.name = name.data(), .name_size = name.size(), .tensor = {}};
    tailor_tensor_init(&next.tensor);
    next.tensor.data = const_cast<std::byte*>(tensor.bytes.data());
    next.tensor.data_bytes = tensor.bytes.size();
    next.tensor.dtype = static_cast<int32_t>(tensor.dtype);
    next.tensor.rank = static_cast<int32_t>(tensor.dims.size());
    std::copy(tensor.dims.begin(), tensor.dims.end(), next.tensor.dims);
  }
  tailor_onnx_options options;
  tailor_onnx_options_init(&options);
  options.fixed = fixed.data();
  options.fixed_count = fixed.size();
  tailor_graph* graph = nullptr;
  if (tailor_status* status =
          tailor_onnx_load_memory(node_case.model.data(), node_case.model.size(), nullptr, nullptr, &options, &graph)) {
    absl::Status failed = absl::InvalidArgumentError(tailor_status_message(status));
    tailor_status_release(status);
    return failed;
  }
  Graph imported = std::move(graph->graph);
  tailor_graph_release(graph);
  return imported;
}

}  // namespace tailor
