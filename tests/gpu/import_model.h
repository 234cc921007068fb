// The graph of a case's ONNX model, by the front end that users have.
#ifndef TAILOR_TESTS_GPU_IMPORT_MODEL_H_
#define TAILOR_TESTS_GPU_IMPORT_MODEL_H_

#include "tests/conformance/node_cases.h"

namespace tailor {

absl::StatusOr<Graph> ImportModel(const NodeCase& node_case);

}  // namespace tailor

#endif  // TAILOR_TESTS_GPU_IMPORT_MODEL_H_
