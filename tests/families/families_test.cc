// TAILOR_FAMILY=<name>: only that family. TAILOR_FAMILY_N=<n>: at that size, with the time of lowering.
// TAILOR_FAMILY_TIMES=<t>: at t times the family's n.
#include "tests/families/families.h"

#include <pthread.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <functional>
#include <iostream>
#include <map>

#include "absl/strings/str_cat.h"
#include "codegen/link/target_machine.h"
#include "codegen/lower/lower_graph.h"
#include "codegen/lower/lowered_program.h"
#include "gtest/gtest.h"

namespace tailor {
namespace {

absl::StatusOr<lower::LoweredProgram> Lowered(const Graph& graph) {
  return lower::LowerGraph(graph, CpuLevels()[1].traits);
}

const Family& FamilyOf(const std::string& name) {
  return *std::find_if(Families().begin(), Families().end(), [&](const Family& f) { return f.name == name; });
}

TEST(Families, Lower) {
  const char* only = std::getenv("TAILOR_FAMILY");
  const char* n = std::getenv("TAILOR_FAMILY_N");
  const char* times = std::getenv("TAILOR_FAMILY_TIMES");
  for (const Family& family : Families()) {
    if (only != nullptr && family.name != only) continue;
    const Graph graph = family.make(n != nullptr ? std::atoi(n) : (times != nullptr ? std::atoi(times) : 4) * family.n);
    const auto start = std::chrono::steady_clock::now();
    const auto lowered = Lowered(graph);
    EXPECT_TRUE(lowered.ok()) << family.name << ": " << lowered.status();
    std::cout << family.name << ": " << graph.nodes().size() << " nodes, "
              << std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count() << " s, "
              << (lowered.ok() ? lowered->kernels.size() : 0) << " kernels\n";
  }
}

std::map<std::string, uint64_t> VisitsOf(const Graph& graph) {
  const auto lowered = Lowered(graph);
  EXPECT_TRUE(lowered.ok()) << lowered.status();
  std::map<std::string, uint64_t> visits;
  if (!lowered.ok()) return visits;
  for (const PassVisits& entry : lowered->visits) {
    visits[entry.pass] += entry.visits;
    if (entry.pass != "lower memory") visits["all"] += entry.visits;
  }
  return visits;
}

std::string TextOf(const std::map<std::string, uint64_t>& before, const std::map<std::string, uint64_t>& after) {
  std::string text;
  for (const auto& [pass, visits] : after) absl::StrAppend(&text, pass, ": ", before.at(pass), " -> ", visits, "\n");
  return text;
}

// A compilation looks at 2.3 times as much, at most, where a graph is twice as large. Not counted among all passes is
// the search for an order of memory blocks, which ends after a fixed amount of work and looks at pairs that are live
// together.
TEST(Families, VisitsGrowWithTheGraph) {
  for (const Family& family : Families()) {
    std::map<std::string, uint64_t> before = VisitsOf(family.make(family.n));
    for (int n = 2 * family.n; n <= 4 * family.n; n *= 2) {
      const std::map<std::string, uint64_t> after = VisitsOf(family.make(n));
      const double ratio = static_cast<double>(after.at("all")) / static_cast<double>(before.at("all"));
      EXPECT_LE(ratio, 2.3) << family.name << " of " << n << "\n" << TextOf(before, after);
      std::cout << family.name << " of " << n << ": " << after.at("all") << " visits, " << ratio << " times those of "
                << n / 2 << "\n";
      EXPECT_LE(after.at("lower memory"), uint64_t{1} << 23) << family.name;
      before = after;
    }
  }
}

TEST(Families, VisitsAreTheSameEveryTime) {
  const Graph graph = FamilyOf("pyramid").make(4);
  EXPECT_EQ(VisitsOf(graph), VisitsOf(graph));
}

// A chain longer than the bound on nodes of a kernel (fusion/group_index.cc).
TEST(Families, KernelsHaveABoundedNumberOfNodes) {
  const auto lowered = Lowered(FamilyOf("chain").make(1200));
  ASSERT_TRUE(lowered.ok()) << lowered.status();
  EXPECT_GE(lowered->kernels.size(), 3u);
}

// On a thread with a stack of 256 KiB.
void OnSmallStack(const std::function<void()>& work) {
  pthread_attr_t attributes;
  ASSERT_EQ(pthread_attr_init(&attributes), 0);
  ASSERT_EQ(pthread_attr_setstacksize(&attributes, 256 << 10), 0);
  pthread_t thread;
  void* (*run)(void*) = [](void* user) -> void* {
    (*static_cast<const std::function<void()>*>(user))();
    return nullptr;
  };
  ASSERT_EQ(pthread_create(&thread, &attributes, run, const_cast<std::function<void()>*>(&work)), 0);
  ASSERT_EQ(pthread_join(thread, nullptr), 0);
  pthread_attr_destroy(&attributes);
}

// No pass recurses along the graph.
TEST(Families, LongChainsNeedNoDeepStack) {
  const std::pair<const char*, int> chains[] = {
      {"chain", 10000}, {"norms", 400}, {"data_rows", 600}, {"data_reshapes", 1000}, {"shuffles", 300}};
  for (const auto& [name, n] : chains) {
    const Graph graph = FamilyOf(name).make(n);
    OnSmallStack([&, family = name] {
      const auto lowered = Lowered(graph);
      EXPECT_TRUE(lowered.ok()) << family << ": " << lowered.status();
    });
  }
}

}  // namespace
}  // namespace tailor
