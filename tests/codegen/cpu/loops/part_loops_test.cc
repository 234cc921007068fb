// Few long rows and tall columns that threads share in parts: right, with the same bits for any number of threads.
#include <algorithm>
#include <cmath>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "codegen/cpu/emit_cpu.h"
#include "codegen/link/target_machine.h"
#include "codegen/lower/lower_graph.h"
#include "graph/text.h"
#include "gtest/gtest.h"
#include "tests/codegen/cpu/loops/parts_cases.h"
#include "tests/support/device.h"
#include "tests/support/reference_evaluator.h"
#include "tests/support/reference_symbols.h"

namespace tailor::cpu {
namespace {

// Whether threads share rows or columns of a kernel of `graph` of inputs [R, C] at these dim sizes.
bool TakesParts(const Graph& graph, const std::string& target, const std::vector<int64_t>& dim_sizes) {
  const TargetTraits traits = FindCpuTarget(target)->traits;
  const auto lowered = lower::LowerGraph(graph, traits);
  EXPECT_TRUE(lowered.ok()) << lowered.status();
  return std::any_of(lowered->kernels.begin(), lowered->kernels.end(), [&](const KernelPlan& plan) {
    std::vector<int64_t> slots;
    for (const DimSlot& slot : plan.dims) slots.push_back(*slot.value.Evaluate(dim_sizes));
    const Schedule schedule = ScheduleOnCpu(plan, traits);
    const auto taken = std::find_if(schedule.versions.begin(), schedule.versions.end(), [&](const Version& version) {
      return std::all_of(version.guards.begin(), version.guards.end(), [&](const Guard& guard) {
        const bool of_slot = guard.kind == Guard::Kind::kAtLeast || guard.kind == Guard::Kind::kAtMost;
        const int64_t value = of_slot ? slots[guard.slot] : *guard.value.Evaluate(slots);
        const bool at_least = guard.kind == Guard::Kind::kAtLeast || guard.kind == Guard::Kind::kValueAtLeast;
        return at_least ? value >= guard.number : value <= guard.number;
      });
    });
    return taken->parts.has_value();
  });
}

void ExpectRight(const std::vector<HostTensor>& got, const std::vector<reference::Array>& want, bool exact) {
  ASSERT_EQ(got.size(), want.size());
  for (size_t o = 0; o < want.size(); ++o) {
    ASSERT_EQ(got[o].dims, want[o].dims);
    const reference::Array values = reference::FromBytes(got[o].dtype, got[o].dims, got[o].bytes.data());
    for (size_t i = 0; i < want[o].elements.size(); ++i) {
      const reference::Element& right = want[o].elements[i];
      if (!right.known()) continue;
      const long double value = values.elements[i].value;
      if (value == right.value || (std::isnan(value) && std::isnan(right.value))) continue;
      ASSERT_LE(std::abs(value - right.value), exact ? 0 : right.error) << "output " << o << ", " << i;
    }
  }
}

class CpuParts : public testing::TestWithParam<PartsCase> {};

TEST_P(CpuParts, AreRightForAnyNumberOfThreads) {
  const auto graph = ParseGraph(GetParam().Text());
  ASSERT_TRUE(graph.ok()) << graph.status();
  const DType dtype = graph->type({graph->inputs()[0], 0}).dtype;
  std::vector<std::unique_ptr<TestProgram>> programs;
  for (const auto& device : CpuDevices()) {
    auto program = device->Compile(*graph);
    ASSERT_TRUE(program.ok()) << program.status();
    programs.push_back(*std::move(program));
  }
  // Long rows and tall columns, few and many, and none.
  std::vector<int> in_parts(programs.size());
  for (const auto& [rows, columns] : {std::pair<int64_t, int64_t>{1, 220003},
                                      {3, 40001},
                                      {20001, 13},
                                      {2300, 131},
                                      {1, 0},
                                      {0, 110000},
                                      {5, 33},
                                      {70, 1999}}) {
    SCOPED_TRACE(absl::StrCat(rows, " x ", columns));
    const HostTensor x = Numbers(dtype, rows, columns), index = Tensor(DType::kI64, {1});
    const auto want = reference::Evaluate(*graph, {rows, columns},
                                          {reference::FromBytes(dtype, x.dims, x.bytes.data()),
                                           reference::FromBytes(DType::kI64, index.dims, index.bytes.data())});
    ASSERT_TRUE(want.ok()) << want.status();
    for (size_t p = 0; p < programs.size(); ++p) {
      in_parts[p] += TakesParts(*graph, CpuDevices()[p]->name(), {rows, columns});
      const auto& program = programs[p];
      const auto first = program->Run({x, index}, 1);
      ASSERT_TRUE(first.ok()) << first.status();
      ExpectRight(*first, want->outputs, GetParam().exact);
      for (int threads : {2, 5}) {
        const auto other = program->Run({x, index}, threads);
        ASSERT_TRUE(other.ok()) << other.status();
        for (size_t i = 0; i < first->size(); ++i) EXPECT_EQ((*first)[i].bytes, (*other)[i].bytes) << "other bits";
      }
    }
    if (HasFailure()) return;
  }
  for (int shapes : in_parts) EXPECT_GE(shapes, 1);
}

INSTANTIATE_TEST_SUITE_P(Cpu, CpuParts, testing::ValuesIn(kPartsCases),
                         [](const auto& info) { return std::string(info.param.name); });

}  // namespace
}  // namespace tailor::cpu
