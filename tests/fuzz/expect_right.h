// Compares a graph of a few nodes with the reference, at dim sizes drawn around the thresholds of loops.
#ifndef TAILOR_TESTS_FUZZ_EXPECT_RIGHT_H_
#define TAILOR_TESTS_FUZZ_EXPECT_RIGHT_H_

#include <gtest/gtest.h>

#include <cstdint>
#include <string>

#include "graph/text.h"
#include "tests/fuzz/check_graph.h"
#include "tests/fuzz/small_numbers.h"

namespace tailor {

// At eight shapes.
inline void ExpectRightOn(const TestDevice& device, const std::string& text) {
  constexpr uint64_t kSeeds = 2;  // four shapes each
  const auto graph = ParseGraph(text, SmallNumbers);
  ASSERT_TRUE(graph.ok()) << graph.status() << "\n" << text;
  for (uint64_t seed = 1; seed <= kSeeds; ++seed) {
    const CheckResult result = CheckGraphInChild(*graph, device, seed);
    EXPECT_EQ(result.failure, "") << device.name() << ", seed " << seed << "\n" << text;
    EXPECT_GT(result.compared, 0);
  }
}

// On every device under test.
inline void ExpectRight(const std::string& text) {
  for (const auto& device : DevicesUnderTest()) ExpectRightOn(*device, text);
}

}  // namespace tailor

#endif  // TAILOR_TESTS_FUZZ_EXPECT_RIGHT_H_
