// Cases of the ONNX suite (tests/conformance/node_cases.h) on one device, in processes of their own.
#ifndef TAILOR_TESTS_GPU_RUN_CASES_H_
#define TAILOR_TESTS_GPU_RUN_CASES_H_

#include <functional>
#include <string>
#include <vector>

#include "tests/conformance/node_cases.h"

namespace tailor {

// Runs every case in a child process, the next one in the same where the last passed: what a failing kernel breaks is
// gone with its process. `report(number, reason)` is called for each in order; an empty reason means that it passed.
// A case that takes longer than two minutes fails. The calling process uses no device, so that its children can.
void RunCases(const std::vector<NodeCase>& cases, const TestDevice& device,
              const std::function<void(size_t number, const std::string& reason)>& report);

}  // namespace tailor

#endif  // TAILOR_TESTS_GPU_RUN_CASES_H_
