// Cases of the ONNX suite as plain data, so that they can be run where there is no Python. export_cases.py writes them,
// one after the other:
//
//   case NAME RTOL ATOL
//   graph BYTES            canonical text (graph/text.h), without the bytes of its constants
//   model BYTES            the ONNX model
//   fixed NAME DTYPE [3,4] BYTES       an input that is fixed when the model is loaded; any number
//   input DTYPE [3,4] BYTES            in the graph's order
//   output INDEX DTYPE [3,4] BYTES     what output INDEX is to be; dense, row-major
//   end
//
// BYTES is a count; so many bytes and a line feed follow the line.
#ifndef TAILOR_TESTS_CONFORMANCE_NODE_CASES_H_
#define TAILOR_TESTS_CONFORMANCE_NODE_CASES_H_

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "graph/graph.h"
#include "tests/support/device.h"

namespace tailor {

struct NodeCase {
  std::string name;
  double rtol = 0, atol = 0;
  std::string graph, model;
  std::vector<std::pair<std::string, HostTensor>> fixed;
  std::vector<HostTensor> inputs;
  std::vector<std::pair<int, HostTensor>> outputs;  // by index
};

// INVALID_ARGUMENT naming the line or the case that is not as above.
absl::StatusOr<std::vector<NodeCase>> ReadNodeCases(absl::string_view bytes);

// Why `got` is not `wanted`, or "". Floats may differ by atol + rtol * |wanted|; NaN equals NaN; the rest is exact.
std::string Difference(const HostTensor& got, const HostTensor& wanted, double rtol, double atol);

// Makes the case's graph.
using GraphOfCase = std::function<absl::StatusOr<Graph>(const NodeCase&)>;

// Compiles the case's graph for `device`, runs it and compares. "" or what went wrong.
std::string RunNodeCase(const NodeCase& node_case, const TestDevice& device, const GraphOfCase& graph_of);

}  // namespace tailor

#endif  // TAILOR_TESTS_CONFORMANCE_NODE_CASES_H_
