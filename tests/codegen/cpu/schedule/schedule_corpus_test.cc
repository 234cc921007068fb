// Schedules of the corpus: printing and parsing are inverse, and the verifier rejects what no kernel could run as.
#include <set>
#include <string>

#include "absl/strings/strip.h"
#include "codegen/cpu/emit_cpu.h"
#include "codegen/link/target_machine.h"
#include "codegen/plan/schedule_fields.h"
#include "codegen/plan/verify_schedule.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/codegen/plan/corrupt_record.h"
#include "tests/codegen/plan/plan_corpus.h"

namespace tailor::cpu {
namespace {

using ::testing::HasSubstr;

// Those of plans whose kernels run on CPUs.
void ForEachSchedule(absl::FunctionRef<void(const KernelPlan& plan, Schedule& schedule)> check) {
  ForEachPlanOfCorpus([&](const KernelPlan& plan) {
    if (plan.IsAttention()) return;
    for (const char* target : {"x86-64-v2", "x86-64-v3", "x86-64-v4", "x86-64-v4+avx512bf16+amx-tile+amx-bf16"}) {
      Schedule schedule = ScheduleOnCpu(plan, FindCpuTarget(target)->traits);
      check(plan, schedule);
    }
  });
}

TEST(ScheduleCorpus, PrintAndParseAreInverse) {
  int count = 0;
  ForEachSchedule([&](const KernelPlan& plan, const Schedule& schedule) {
    ++count;
    const std::string text = schedule.Text();
    const auto parsed = ParseSchedule(text);
    ASSERT_TRUE(parsed.ok()) << parsed.status() << "\n" << text;
    EXPECT_EQ(*parsed, schedule) << text;
    EXPECT_EQ(parsed->Text(), text);
    EXPECT_EQ(VerifySchedule(plan, schedule), absl::OkStatus()) << text;
  });
  EXPECT_GT(count, 5000);
}

// Fields that make another legal schedule where they change: how much is done at once or in turn, which version runs
// when, scratch that nobody uses. Whether the code of a version needs a guard is what its emitter knows.
bool IsTuning(absl::string_view field) {
  static const std::set<std::string> kTuning = {"unroll",
                                                "interleaved_rows",
                                                "max_interleaved_elements",
                                                "overlap_stage",
                                                "max_overlap_elements",
                                                "defer_last_stage",
                                                "tasks_per_chunk",
                                                "scratch_bytes",
                                                "tile.rows",
                                                "tile.panels",
                                                "tile.tall_rows",
                                                "tile.tall_panels",
                                                "tile.packed_rows",
                                                "tile.packed_panels",
                                                "tile.task_rows",
                                                "tile.task_panels",
                                                "tile.depth",
                                                "tile.chooses",
                                                "tile.tilings and one",
                                                "tile.tilings but one",
                                                "tile.tilings.rows",
                                                "tile.tilings.panels",
                                                "tile.tilings.whole_rows",
                                                "tile.tilings.whole_panels",
                                                "tile.tilings.task_rows",
                                                "tile.tilings.task_panels",
                                                "tile.tilings.least_m",
                                                "tile.tilings.most_m",
                                                "versions but one",
                                                "versions.guards but one",
                                                "versions.parts.scratch_bytes"};
  absl::ConsumePrefix(&field, "links.");
  return kTuning.contains(std::string(field));
}

TEST(ScheduleCorpus, CorruptFieldsAreRejected) {
  RejectionCounts counts;
  uint32_t seed = 0;
  ForEachSchedule([&](const KernelPlan& plan, Schedule& schedule) {
    RecordCorrupter(++seed, [&](const std::string& field) {
      counts.Add(field, !VerifySchedule(plan, schedule).ok());
    }).Corrupt(schedule);
  });
  std::string lines;
  EXPECT_GE(counts.Rate([](const std::string& field) { return !IsTuning(field); }, &lines), 0.95) << lines;
  std::string tuning;
  counts.Rate(IsTuning, &tuning);
  if (std::getenv("TAILOR_TEST_ALL") != nullptr) printf("%s\ntuning:\n%s", lines.c_str(), tuning.c_str());
}

TEST(ParseSchedule, SaysWhatIsWrong) {
  const auto error = [](const std::string& text) { return ParseSchedule(text).status().ToString(); };
  EXPECT_THAT(error("{lanes 8"), HasSubstr("line 1, column 9: expected ','"));
  EXPECT_THAT(error("{lane 8}"), HasSubstr("there is no field 'lane'"));
  EXPECT_THAT(error("{lanes 8, unroll}"), HasSubstr("expected an integer"));
  EXPECT_THAT(error("{lanes 99999999999}"), HasSubstr("99999999999 is out of range"));
  EXPECT_THAT(error("{versions [\n  {guards [d0 > 2]}]}"), HasSubstr("line 2, column 18: 'd0 > 2' is no guard"));
  EXPECT_THAT(error("{tasks floordiv(d0, e1)}"), HasSubstr("unknown symbol \"e1\""));
  EXPECT_THAT(error("{} {}"), HasSubstr("expected the end"));
}

}  // namespace
}  // namespace tailor::cpu
