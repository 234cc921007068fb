// Compares a graph of a few nodes with the reference, at dim sizes drawn around the thresholds of loops.
#ifndef TAILOR_TESTS_FUZZ_EXPECT_RIGHT_H_
#define TAILOR_TESTS_FUZZ_EXPECT_RIGHT_H_

#include <gtest/gtest.h>

#include <cstdint>
#include <cstdlib>
#include <ctime>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

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

// The best device under test and one of the others, which depends on `text` and on the day; with TAILOR_TEST_ALL all.
inline std::vector<std::unique_ptr<TestDevice>> DevicesOfToday(const std::string& text) {
  auto devices = DevicesUnderTest();
  if (devices.size() <= 2 || std::getenv("TAILOR_TEST_ALL") != nullptr) return devices;
  const uint64_t today = static_cast<uint64_t>(std::time(nullptr)) / 86400;
  std::swap(devices[1], devices[1 + (std::hash<std::string>()(text) + today) % (devices.size() - 1)]);
  devices.resize(2);
  return devices;
}

// On the devices of today.
inline void ExpectRight(const std::string& text) {
  for (const auto& device : DevicesOfToday(text)) ExpectRightOn(*device, text);
}

}  // namespace tailor

#endif  // TAILOR_TESTS_FUZZ_EXPECT_RIGHT_H_
