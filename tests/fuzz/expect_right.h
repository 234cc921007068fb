// Compares a graph of a few nodes with the reference, at dim sizes drawn around the thresholds of loops.
#ifndef TAILOR_TESTS_FUZZ_EXPECT_RIGHT_H_
#define TAILOR_TESTS_FUZZ_EXPECT_RIGHT_H_

#include <gtest/gtest.h>

#include <cstdint>
#include <cstdlib>
#include <ctime>
#include <functional>
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

// On the best device under test and on one of the others, another every day; with TAILOR_TEST_ALL on all of them.
inline void ExpectRight(const std::string& text) {
  const auto devices = DevicesUnderTest();
  const uint64_t today = static_cast<uint64_t>(std::time(nullptr)) / 86400;
  const size_t others = devices.size() > 1 ? devices.size() - 1 : 1;
  const size_t chosen = 1 + (std::hash<std::string>()(text) + today) % others;
  for (size_t i = 0; i < devices.size(); ++i) {
    if (i == 0 || i == chosen || std::getenv("TAILOR_TEST_ALL") != nullptr) ExpectRightOn(*devices[i], text);
  }
}

}  // namespace tailor

#endif  // TAILOR_TESTS_FUZZ_EXPECT_RIGHT_H_
