#include "codegen/backend/code_bounds.h"

#include "codegen/driver/compile.h"
#include "gmock/gmock.h"
#include "graph/text.h"
#include "gtest/gtest.h"

namespace tailor::backend {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// As many versions as `guards`, then the one that serves all shapes.
Schedule WithGuards(int guards) {
  Schedule schedule;
  schedule.versions.clear();
  for (int i = 0; i < guards; ++i) {
    schedule.versions.push_back({.guards = {{.kind = Guard::Kind::kAtLeast, .slot = i, .number = 2}}});
  }
  schedule.versions.emplace_back();
  return schedule;
}

std::vector<std::string> Texts(const Schedule& schedule) {
  std::vector<std::string> texts;
  for (const Version& version : schedule.versions) texts.push_back(VersionText(version));
  return texts;
}

TEST(BoundVersions, TheFirstToBeTriedGoFirst) {
  Schedule schedule = WithGuards(3);
  DroppedVersions dropped;
  BoundVersions({.versions = 4}, schedule.versions, dropped);
  EXPECT_THAT(dropped, IsEmpty());
  BoundVersions({.versions = 2}, schedule.versions, dropped);
  EXPECT_THAT(Texts(schedule), ElementsAre("d2 >= 2", "always"));
  EXPECT_THAT(dropped, ElementsAre("d0 >= 2 (more than 2 versions)", "d1 >= 2 (more than 2 versions)"));
}

TEST(BoundVersions, OneServesAllShapes) {
  Schedule schedule = WithGuards(1);
  DroppedVersions dropped;
  BoundVersions({.versions = 1}, schedule.versions, dropped);
  EXPECT_THAT(Texts(schedule), ElementsAre("always"));
  EXPECT_THAT(dropped, ElementsAre("d0 >= 2 (more than 1 version)"));
}

TEST(BoundCode, TheLargestVersionsGoUntilTheRestFits) {
  std::vector<Schedule> schedules = {WithGuards(1), WithGuards(2), WithGuards(0), WithGuards(1)};
  const std::vector<KernelCode> codes = {{300, {100, 200}}, {900, {400, 300, 100}}, {500, {500}}, {150, {50, 100}}};
  std::vector<DroppedVersions> dropped(4);
  auto shrunk = BoundCode({.bytes = 2000}, 2000, codes, schedules, dropped);
  ASSERT_TRUE(shrunk.ok());
  EXPECT_THAT(*shrunk, IsEmpty());
  shrunk = BoundCode({.bytes = 1250}, 2000, codes, schedules, dropped);
  ASSERT_TRUE(shrunk.ok());
  EXPECT_THAT(*shrunk, ElementsAre(0, 1));
  EXPECT_THAT(Texts(schedules[1]), ElementsAre("always"));
  EXPECT_THAT(dropped[1],
              ElementsAre("d0 >= 2 (more than 1250 bytes of code)", "d1 >= 2 (more than 1250 bytes of code)"));
  EXPECT_THAT(dropped[3], IsEmpty());
}

TEST(BoundCode, OneVersionEachIsTheLeast) {
  std::vector<Schedule> schedules = {WithGuards(0)};
  std::vector<DroppedVersions> dropped(1);
  const auto shrunk = BoundCode({.bytes = 100}, 300, {{250, {250}}}, schedules, dropped);
  EXPECT_EQ(shrunk.status().code(), absl::StatusCode::kResourceExhausted);
  EXPECT_THAT(std::string(shrunk.status().message()), AllOf(HasSubstr("300 bytes"), HasSubstr("is 100")));
}

// One kernel of three versions: %b may be broadcast or not, and a large output is written past the caches.
constexpr char kThreeVersions[] = R"(
graph @three(%a: f32[N, M], %b: f32[K, M]) where K in [1, 100000] {
  %y = add %a, %b
  return "y" = %y
})";

absl::StatusOr<driver::CompiledProgram> CompileThree(const CodeBounds& bounds) {
  auto graph = ParseGraph(kThreeVersions);
  if (!graph.ok()) return graph.status();
  return driver::Compile(*graph, {.targets = {"x86-64-v3"}, .bounds = bounds});
}

TEST(CodeBounds, SizesAreThoseOfTheFunctions) {
  const auto compiled = CompileThree({});
  ASSERT_TRUE(compiled.ok()) << compiled.status();
  const Variant& variant = compiled->program.variants[0];
  ASSERT_EQ(variant.launches.size(), 1u);
  EXPECT_GE(variant.launches[0].versions.size(), 2u);
  EXPECT_THAT(variant.launches[0].dropped, IsEmpty());
  ASSERT_EQ(variant.kernel_bytes.size(), 1u);
  EXPECT_GT(variant.kernel_bytes[0], 100u);
  EXPECT_LT(variant.kernel_bytes[0], variant.image.size());
  EXPECT_EQ(compiled->program.provenance.options, "targets=x86-64-v3");
}

TEST(CodeBounds, APlanSaysWhatABoundLeftOut) {
  const auto all = CompileThree({});
  const auto one = CompileThree({.versions = 1});
  ASSERT_TRUE(all.ok() && one.ok());
  const ProgramLaunch& launch = one->program.variants[0].launches[0];
  EXPECT_THAT(launch.versions, ElementsAre("always"));
  EXPECT_EQ(launch.dropped.size() + 1, all->program.variants[0].launches[0].versions.size());
  EXPECT_THAT(launch.dropped[0], HasSubstr("(more than 1 version)"));
  EXPECT_LT(one->program.variants[0].kernel_bytes[0], all->program.variants[0].kernel_bytes[0]);
  EXPECT_EQ(one->program.provenance.options, "targets=x86-64-v3 max_versions=1");
}

TEST(CodeBounds, CodeIsEmittedAgainUntilItFits) {
  const auto all = CompileThree({});
  const auto least = CompileThree({.versions = 1});
  ASSERT_TRUE(all.ok() && least.ok());
  const uint64_t bytes = least->program.variants[0].image.size();
  ASSERT_LT(bytes, all->program.variants[0].image.size());
  const auto fits = CompileThree({.bytes = bytes});
  ASSERT_TRUE(fits.ok()) << fits.status();
  EXPECT_EQ(fits->program.variants[0].image.size(), bytes);
  EXPECT_THAT(fits->program.variants[0].launches[0].dropped[0], HasSubstr("bytes of code)"));
  const auto none = CompileThree({.bytes = bytes - 1});
  EXPECT_EQ(none.status().code(), absl::StatusCode::kResourceExhausted);
  EXPECT_THAT(std::string(none.status().message()), HasSubstr("x86-64-v3: the code takes"));
}

// A product of four rows at most needs no tiles of more.
TEST(CodeBounds, RangesOfSymbolsLeaveCodeOut) {
  const auto bytes = [](const std::string& range) {
    const auto graph = ParseGraph("graph @dot(%x: f32[M, 64]) " + range +
                                  " { %w = constant @w : f32[64, 64]\n %y = dot %x, %w\n return %y }");
    const auto compiled = driver::Compile(*graph, {.targets = {"x86-64-v4"}});
    return compiled.ok() ? compiled->program.variants[0].kernel_bytes[0] : 0;
  };
  const uint64_t few = bytes("where M in [1, 4]");
  EXPECT_GT(few, 0u);
  EXPECT_LT(few, bytes(""));
}

}  // namespace
}  // namespace tailor::backend
