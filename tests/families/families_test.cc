// TAILOR_FAMILY=<name> TAILOR_FAMILY_N=<n>: that graph alone, with the time that lowering takes.
#include "tests/families/families.h"

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <iostream>

#include "codegen/build_host_program.h"
#include "codegen/target_machine.h"
#include "gtest/gtest.h"

namespace tailor {
namespace {

TEST(Families, Lower) {
  const char* only = std::getenv("TAILOR_FAMILY");
  const char* n = std::getenv("TAILOR_FAMILY_N");
  for (const Family& family : Families()) {
    if (only != nullptr && family.name != only) continue;
    const Graph graph = family.make(n != nullptr ? std::atoi(n) : family.n);
    const auto start = std::chrono::steady_clock::now();
    const auto lowered = LowerGraph(graph, CpuLevels()[1].traits);
    EXPECT_TRUE(lowered.ok()) << family.name << ": " << lowered.status();
    std::cout << family.name << ": " << graph.nodes().size() << " nodes, "
              << std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count() << " s, "
              << (lowered.ok() ? lowered->kernels.size() : 0) << " kernels\n";
  }
}

// A chain longer than the bound on nodes of a kernel (fusion/group_index.cc).
TEST(Families, KernelsHaveABoundedNumberOfNodes) {
  const auto chain =
      std::find_if(Families().begin(), Families().end(), [](const Family& f) { return f.name == "chain"; });
  const auto lowered = LowerGraph(chain->make(1200), CpuLevels()[1].traits);
  ASSERT_TRUE(lowered.ok()) << lowered.status();
  EXPECT_GE(lowered->kernels.size(), 3u);
}

}  // namespace
}  // namespace tailor
