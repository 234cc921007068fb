#include "codegen/plan/kernel_signature.h"

#include <string>

#include "absl/strings/str_join.h"
#include "gtest/gtest.h"

namespace tailor {
namespace {

// A kernel that has everything: two inputs, an output, a row buffer, dims and faults.
KernelPlan Plan() {
  KernelPlan plan;
  plan.buffers = {{BufferKind::kInput, DType::kF32, {}},
                  {BufferKind::kInput, DType::kI64, {}},
                  {BufferKind::kOutput, DType::kF32, {}},
                  {BufferKind::kRow, DType::kF32, {}},
                  {BufferKind::kLocal, DType::kF32, {}}};
  plan.dims.resize(2);
  plan.fault_count = 1;
  return plan;
}

std::string Names(const KernelSignature& signature) {
  return absl::StrJoin(signature.parameters(), " ",
                       [](std::string* out, const KernelParameter& parameter) { *out += parameter.Name(); });
}

TEST(KernelSignature, OrdersParameters) {
  const std::string of_plan = "b0 b1 b2 d0 d1 scratch scratch.bytes fault fault.base";
  const KernelSignature plain(Plan(), {});
  EXPECT_EQ(Names(plain), of_plan);
  EXPECT_EQ(plain.slots(), 9);
  EXPECT_EQ(Names(KernelSignature(Plan(), {.sync = KernelSignature::Sync::kPhases})),
            of_plan + " launch.scratch phase parts");
  const KernelSignature device(Plan(), {.sync = KernelSignature::Sync::kGridBarriers, .tensor_maps = 2});
  EXPECT_EQ(Names(device), of_plan + " launch.scratch grid.barrier parts map0 map1");
  EXPECT_EQ(device.slots(), 12);  // tensor maps are behind the slots
  KernelPlan small = Plan();
  small.buffers.resize(3);
  small.fault_count = 0;
  EXPECT_EQ(Names(KernelSignature(small, {.chooses_tiling = true})), "b0 b1 b2 d0 d1 tiling");
}

TEST(KernelSignature, KernelsThatPollHaveTheContextAfterAllElse) {
  EXPECT_EQ(Names(KernelSignature(Plan(), {.chooses_tiling = true, .polls = true})),
            "b0 b1 b2 d0 d1 scratch scratch.bytes fault fault.base tiling context");
}

TEST(KernelSignature, KnowsWhereAParameterIs) {
  const KernelSignature signature(Plan(), {.sync = KernelSignature::Sync::kPhases});
  EXPECT_EQ(signature.SlotOf(KernelParameter::kBuffer, 2), 2);
  EXPECT_EQ(signature.SlotOf(KernelParameter::kDim, 1), 4);
  EXPECT_EQ(signature.SlotOf(KernelParameter::kPhase), 10);
  EXPECT_EQ(signature.SlotOf(KernelParameter::kBuffer, 3), -1);  // a row buffer is no parameter
  EXPECT_EQ(signature.SlotOf(KernelParameter::kTiling), -1);
  for (const KernelParameter& parameter : signature.parameters()) {
    EXPECT_EQ(parameter.is_address(), parameter.Name()[0] == 'b' || parameter.Name() == "scratch" ||
                                          parameter.Name() == "fault" || parameter.Name() == "launch.scratch")
        << parameter.Name();
  }
}

// All versions of a kernel on the host have the parameters that one of them needs.
TEST(KernelSignature, OnHostFollowsFromTheSchedule) {
  Schedule schedule;
  EXPECT_EQ(KernelSignature::OnHost(Plan(), schedule).slots(), 9);
  schedule.versions.insert(schedule.versions.begin(), Version{.parts = PartTasks()});
  EXPECT_EQ(KernelSignature::OnHost(Plan(), schedule).SlotOf(KernelParameter::kParts), 11);
  schedule.tile.chooses = true;
  EXPECT_EQ(KernelSignature::OnHost(Plan(), schedule).SlotOf(KernelParameter::kTiling), 9);
  schedule.tile.chooses = false;
  schedule.row_blocks = SlotExpr::Slot(0);
  EXPECT_EQ(KernelSignature::OnHost(Plan(), schedule).SlotOf(KernelParameter::kRowBlocks), 9);
}

}  // namespace
}  // namespace tailor
