// Schedules of the corpus for GPUs: printing and parsing are inverse, and the verifier rejects what no kernel could run
// as.
#include <set>
#include <string>

#include "codegen/cuda/emit_cuda.h"
#include "codegen/cuda/ptx/target.h"
#include "codegen/cuda/schedule/cuda_schedule_fields.h"
#include "codegen/cuda/schedule/verify_cuda_schedule.h"
#include "gtest/gtest.h"
#include "tests/codegen/plan/corrupt_record.h"
#include "tests/codegen/plan/plan_corpus.h"

namespace tailor::cuda {
namespace {

void ForEachSchedule(absl::FunctionRef<void(const KernelPlan& plan, CudaSchedule& schedule)> check) {
  ForEachPlanOfCorpus([&](const KernelPlan& plan) {
    if (plan.IsChain()) return;
    for (const char* target : {"sm_80", "sm_90a"}) {
      auto schedule = ScheduleOnCuda(plan, FindCudaTarget(target)->traits);
      // Some would have more shared memory than there is.
      if (schedule.status().code() == absl::StatusCode::kUnimplemented) continue;
      ASSERT_TRUE(schedule.ok()) << schedule.status();
      check(plan, *schedule);
    }
  });
}

TEST(CudaScheduleCorpus, PrintAndParseAreInverse) {
  int count = 0;
  ForEachSchedule([&](const KernelPlan& plan, const CudaSchedule& schedule) {
    ++count;
    const std::string text = schedule.Text();
    const auto parsed = ParseCudaSchedule(text);
    ASSERT_TRUE(parsed.ok()) << parsed.status() << "\n" << text;
    EXPECT_EQ(*parsed, schedule) << text;
    EXPECT_EQ(parsed->Text(), text);
    EXPECT_EQ(VerifyCudaSchedule(plan, schedule), absl::OkStatus()) << text;
  });
  EXPECT_GT(count, 2000);
}

// Fields that make another legal schedule where they change, slower or faster, or whose right value the kernel's
// emitter alone knows.
bool IsTuning(const std::string& field) {
  static const std::set<std::string> kTuning = {"blocks",
                                                "clocks",
                                                "shared_bytes",
                                                "parts",
                                                "resident_blocks",
                                                "persistent",
                                                "lane_axis",
                                                "vectors_per_thread",
                                                "partial_bytes",
                                                "tile.depth",
                                                "tile.resident_blocks",
                                                "tile.stages",
                                                "tile.pass_rows",
                                                "attention.keys",
                                                "attention.depth",
                                                "attention.columns",
                                                "attention.skips",
                                                "attention.stages",
                                                "version.guards but one"};
  return kTuning.contains(field);
}

TEST(CudaScheduleCorpus, CorruptFieldsAreRejected) {
  RejectionCounts counts;
  uint32_t seed = 0;
  ForEachSchedule([&](const KernelPlan& plan, CudaSchedule& schedule) {
    RecordCorrupter corrupter(
        ++seed, [&](const std::string& field) { counts.Add(field, !VerifyCudaSchedule(plan, schedule).ok()); });
    for (CudaVersion& version : schedule.versions) corrupter.Corrupt(version);
  });
  std::string lines;
  EXPECT_GE(counts.Rate([](const std::string& field) { return !IsTuning(field); }, &lines), 0.95) << lines;
  std::string tuning;
  counts.Rate(IsTuning, &tuning);
  if (std::getenv("TAILOR_TEST_ALL") != nullptr) printf("%s\ntuning:\n%s", lines.c_str(), tuning.c_str());
}

}  // namespace
}  // namespace tailor::cuda
