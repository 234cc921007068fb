// Versions that spill or that the assembler rejects, and programs with them; the assembler is a fake whose log a test
// sets.
#include "codegen/cuda/backend/retry_on_spill.h"

#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "codegen/driver/compile.h"
#include "gmock/gmock.h"
#include "graph/text.h"
#include "gtest/gtest.h"

namespace tailor::cuda {
namespace {

using testing::AllOf;
using testing::Contains;
using testing::Each;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::Pair;
using testing::SizeIs;

const AssemblerProblem kSpill{"k0_v0", "    16 bytes stack frame, 24 bytes spill stores, 20 bytes spill loads", true};
const AssemblerProblem kSerialised{"k0_v0", "ptxas info : (C7511) Potential Performance Loss", false};

// One that the host program chooses by its clocks.
CudaVersion Tile(MatmulTile::Kind kind, int rows, int columns) {
  CudaVersion version{.shape = CudaVersion::Shape::kMatmulTile, .clocks = 100};
  version.tile = {.kind = kind, .rows = rows, .columns = columns};
  return version;
}
CudaVersion Sharing(CudaVersion version) {
  version.cooperative = version.persistent = true;
  return version;
}
CudaVersion Guarded(CudaVersion version) {
  version.version.guards = {{.kind = Guard::Kind::kDivides, .slot = 0, .number = 8}};
  return version;
}

constexpr auto kMma = MatmulTile::Kind::kMma, kWarpgroup = MatmulTile::Kind::kWarpgroup;
const CudaVersion kLarge = Tile(kMma, 128, 128), kSmall = Tile(kMma, 64, 64);
const CudaVersion kWarpgroups = Tile(kWarpgroup, 128, 128);

TEST(Replaces, WhatIsChosenByClocksAmongEquals) {
  EXPECT_TRUE(Replaces(kSmall, kLarge, /*spills=*/true));
  EXPECT_FALSE(Replaces(kLarge, kSmall, true)) << "fewer blocks";
  EXPECT_TRUE(Replaces(kSmall, Sharing(kSmall), true));
  EXPECT_FALSE(Replaces(Sharing(kSmall), kSmall, true)) << "its blocks meet";
  EXPECT_TRUE(Replaces(kSmall, Guarded(kSmall), true));
  EXPECT_FALSE(Replaces(Guarded(kSmall), kSmall, true)) << "other shapes";
  EXPECT_FALSE(Replaces(kSmall, kWarpgroups, true)) << "other instructions";
  EXPECT_TRUE(Replaces(kSmall, kWarpgroups, false)) << "which cannot be slower";
  CudaVersion few_rows = kLarge;
  few_rows.clocks = 0;
  EXPECT_FALSE(Replaces(kSmall, few_rows, true)) << "not chosen by clocks";
}

struct Retried {
  bool changed = false;
  CudaSchedule schedule;
  std::vector<std::string> dropped;
  std::map<int, std::string> notes;
};

Retried Retry(std::vector<CudaVersion> versions, const VersionFaults& faults, int turn = 1) {
  Retried made{.schedule = {std::move(versions)}};
  made.changed = RetryOnSpill(faults, turn, made.schedule, made.dropped, made.notes);
  return made;
}

TEST(RetryOnSpill, WithoutFaultNothingChanges) {
  const Retried made = Retry({kLarge, kSmall}, {});
  EXPECT_FALSE(made.changed);
  EXPECT_THAT(made.schedule.versions, SizeIs(2));
  EXPECT_THAT(made.notes, IsEmpty());
}

TEST(RetryOnSpill, OneThatAnotherStandsInForIsLeftOut) {
  const Retried made = Retry({kLarge, kSmall}, {{0, kSpill}});
  EXPECT_TRUE(made.changed);
  ASSERT_THAT(made.schedule.versions, SizeIs(1));
  EXPECT_EQ(made.schedule.versions[0].tile, kSmall.tile);
  EXPECT_THAT(made.dropped,
              ElementsAre(AllOf(HasSubstr("tile matrix 128x128"), HasSubstr("(its registers spill, 24 bytes)"))));
  EXPECT_THAT(Retry({kWarpgroups, kSmall}, {{0, kSerialised}}).dropped,
              ElementsAre(HasSubstr("(the assembler notes C7511)")));
}

TEST(RetryOnSpill, OneWithTheSameFaultDoesNotStandIn) {
  const Retried made = Retry({kLarge, kSmall}, {{0, kSpill}, {1, kSpill}});
  EXPECT_FALSE(made.changed);
  EXPECT_THAT(made.schedule.versions, SizeIs(2));
  EXPECT_THAT(made.dropped, IsEmpty());
  EXPECT_THAT(made.notes,
              ElementsAre(Pair(0, "its registers spill, 24 bytes"), Pair(1, "its registers spill, 24 bytes")));
}

TEST(RetryOnSpill, TheLastIsKept) {
  const Retried made = Retry({kSmall, kSmall}, {{1, kSerialised}});
  EXPECT_FALSE(made.changed);
  EXPECT_THAT(made.notes, ElementsAre(Pair(1, "the assembler notes C7511")));
}

TEST(RetryOnSpill, NotesCountWhatIsLeft) {
  const Retried made = Retry({Sharing(kSmall), kSmall, kWarpgroups}, {{0, kSpill}, {2, kSpill}});
  EXPECT_THAT(made.schedule.versions, SizeIs(2));
  EXPECT_THAT(made.notes, ElementsAre(Pair(1, testing::_)));
}

TEST(RetryOnSpill, LighterFormsFollowFasterAndFaster) {
  const CudaVersion row{
      .shape = CudaVersion::Shape::kRows, .threads = 256, .resident_blocks = 4, .lanes = 16, .lane_axis = 0};
  std::vector<CudaVersion> versions = {row};
  std::vector<std::pair<int, int>> steps;
  for (int turn = 1; turn <= kAssemblingTurns; ++turn) {
    const Retried made = Retry(versions, {{0, kSpill}}, turn);
    EXPECT_EQ(made.changed, turn < kAssemblingTurns);
    EXPECT_EQ(made.notes.empty(), made.changed);
    EXPECT_EQ(made.dropped.size(), made.changed ? 1u : 0u);
    versions = made.schedule.versions;
    steps.emplace_back(versions[0].resident_blocks, versions[0].lanes);
  }
  EXPECT_THAT(steps, ElementsAre(Pair(2, 16), Pair(1, 8), Pair(1, 1), Pair(1, 1)));
}

TEST(RetryOnSpill, TheLastTurnKeepsWhatItHas) {
  EXPECT_TRUE(Retry({kLarge, kSmall}, {{0, kSpill}}, kAssemblingTurns - 1).changed);
  const Retried made = Retry({kLarge, kSmall}, {{0, kSpill}}, kAssemblingTurns);
  EXPECT_FALSE(made.changed);
  EXPECT_THAT(made.schedule.versions, SizeIs(2));
  EXPECT_THAT(made.notes, SizeIs(1));
}

// A shell script that takes ptxas's place while a test runs.
class AssemblerScript {
 public:
  explicit AssemblerScript(const std::string& script) : path_(std::getenv("PATH")) {
    folder_ = (std::filesystem::temp_directory_path() / "tailor-faults-XXXXXX").string();
    EXPECT_NE(mkdtemp(folder_.data()), nullptr);
    const std::string program = folder_ + "/ptxas";
    std::ofstream(program) << "#!/bin/sh\necho turn >> " << folder_ << "/turns\n" << script << "\n";
    std::filesystem::permissions(program, std::filesystem::perms::owner_all);
    setenv("TAILOR_ASSEMBLER", "ptxas", 1);
    setenv("PATH", absl::StrCat(folder_, ":", path_).c_str(), 1);
  }
  AssemblerScript(const AssemblerScript&) = delete;
  ~AssemblerScript() {
    setenv("PATH", path_.c_str(), 1);
    unsetenv("TAILOR_ASSEMBLER");
    std::filesystem::remove_all(folder_);
  }
  int turns() const {
    std::ifstream file(folder_ + "/turns");
    const std::string all(std::istreambuf_iterator<char>(file), {});
    return static_cast<int>(std::count(all.begin(), all.end(), '\n'));
  }

 private:
  const std::string path_;
  std::string folder_;
};

// Says `fault` of each kernel in whose PTX a line has `pattern`, an awk regular expression.
class FaultFinder : public AssemblerScript {
 public:
  FaultFinder(const std::string& pattern, const std::string& fault)
      : AssemblerScript(absl::StrCat("cp \"$6\" \"$5\"\nawk '/\\.entry/ { split($3, name, \"(\"); told = 0 }\n/",
                                     pattern,
                                     "/ && name[1] != \"\" && !told++ { printf \"Function properties for %s\\n", fault,
                                     "\\n\", name[1] }' \"$6\"")) {}
};

constexpr char kSpills[] = "    16 bytes stack frame, 24 bytes spill stores, 24 bytes spill loads";

// The launches of the program that `text` becomes for sm_90a, whatever the assembler says.
std::vector<ProgramLaunch> LaunchesOf(const std::string& text) {
  const auto graph = ParseGraph(text);
  EXPECT_TRUE(graph.ok()) << graph.status();
  const auto compiled = driver::Compile(*graph, {.targets = {"sm_90a"}, .threads = 1});
  EXPECT_TRUE(compiled.ok()) << compiled.status();
  return compiled.ok() ? compiled->program.variants.at(0).launches : std::vector<ProgramLaunch>(1);
}

constexpr char kMatmul[] = R"(
graph @matmul(%a: f16[M, K], %b: f16[K, N]) {
  %c = dot %a, %b
  return %c
})";
constexpr char kNorm[] = R"(
graph @norm(%x: f16[N, 4096]) {
  %s = reduce_sum %x {axes = [1], keep_dims = 1}
  %y = div %x, %s
  return %y
})";

constexpr char kAttention[] = R"(
graph @attention(%q: f16[B, S, 64], %k: f16[B, 64, T], %v: f16[B, T, 64]) {
  %s = dot %q, %k
  %top = reduce_max %s {axes = [2], keep_dims = 1}
  %d = sub %s, %top
  %e = exp %d
  %sum = reduce_sum %e {axes = [2], keep_dims = 1}
  %p = div %e, %sum
  %o = dot %p, %v
  return %o
})";

TEST(ProgramsThatSpill, CompileAndSaySo) {
  for (const char* text : {kMatmul, kNorm, kAttention}) {
    const FaultFinder faults("ret;", kSpills);
    const std::vector<ProgramLaunch> launches = LaunchesOf(text);
    EXPECT_THAT(launches.back().versions, Each(HasSubstr("(its registers spill, 24 bytes)")));
    EXPECT_LE(faults.turns(), kAssemblingTurns);
  }
}

TEST(ProgramsThatSpill, AreMadeAgainWithMoreRegisters) {
  const FaultFinder faults("minnctapersm [34]", kSpills);
  const ProgramLaunch launch = LaunchesOf(kAttention).back();
  EXPECT_EQ(faults.turns(), 2);
  EXPECT_THAT(launch.dropped, Contains(HasSubstr("(its registers spill, 24 bytes)")));
  EXPECT_THAT(launch.versions, Each(Not(HasSubstr("spill"))));
}

TEST(ProgramsThatAreSerialised, MultiplyByOtherInstructions) {
  const FaultFinder faults("wgmma.mma_async", "(C7511) wgmma.mma_async instructions are serialized in this function");
  const ProgramLaunch launch = LaunchesOf(kMatmul).back();
  EXPECT_EQ(faults.turns(), 2);
  EXPECT_THAT(launch.dropped, Contains(AllOf(HasSubstr("tile warpgroup"), HasSubstr("(the assembler notes C7511)"))));
  EXPECT_THAT(launch.versions, AllOf(Not(IsEmpty()), Each(Not(HasSubstr("C7511")))));
}

// All registers that a thread can have are too few for its one step of K, which is unrolled.
TEST(ProgramsThatSpill, HaveMatmulsOfF64WithAShortK) {
  const auto launches = LaunchesOf("graph @g(%x: f64[M, 12], %w: f64[12, 20]) {\n%y = dot %x, %w\nreturn %y\n}");
  EXPECT_THAT(launches.back().versions, Not(IsEmpty()));
}

// Sixteen sums of vectors of eight are more than the registers that a thread has beside a second block's.
TEST(ProgramsThatSpill, WithTheMachinesOwnAssembler) {
  if (!FindAssembler().ok()) GTEST_SKIP() << FindAssembler().status().message();
  std::string text = "graph @heavy(%x: f16[2, 65536]) {\n";
  std::vector<std::string> sums;
  for (int i = 0; i < 16; ++i) {
    absl::StrAppend(&text, "%k", i, " = constant ", 0.5 + 0.125 * i, " : f16[]\n");
    absl::StrAppend(&text, "%d", i, " = sub %x, %k", i, "\n");
    absl::StrAppend(&text, "%q", i, " = mul %d", i, ", %d", i, "\n");
    absl::StrAppend(&text, "%s", i, " = reduce_sum %q", i, " {axes = [1]}\n");
    sums.push_back(absl::StrCat("%s", i));
  }
  absl::StrAppend(&text, "return ", absl::StrJoin(sums, ", "), "\n}");
  const ProgramLaunch launch = LaunchesOf(text).front();
  ASSERT_FALSE(launch.dropped.empty());
  EXPECT_THAT(launch.dropped[0],
              HasSubstr("256 threads per part of a row, lanes 8, threads 256 (its registers spill, "));
}

// What the driver reports names the target, beside others that compile.
TEST(ProgramsThatDoNotAssemble, NameTheTarget) {
  const AssemblerScript script("echo 'ptxas fatal: no such instruction'\nexit 7");
  const auto graph = ParseGraph(kMatmul);
  ASSERT_TRUE(graph.ok()) << graph.status();
  const auto compiled = driver::Compile(*graph, {.targets = {"x86-64-v3", "sm_80"}, .threads = 1});
  EXPECT_EQ(compiled.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(compiled.status().message()),
              testing::StartsWith("sm_80: ptxas -arch sm_80 exits 7: ptxas fatal: no such instruction"));
}

}  // namespace
}  // namespace tailor::cuda
