#include "tools/tune/schedule_space.h"

#include "codegen/cpu/schedule/schedule_contraction.h"
#include "codegen/link/target_machine.h"
#include "gtest/gtest.h"

namespace tailor::tune {
namespace {

constexpr CacheGeometry kCaches = {.l1_bytes = 48 << 10, .l1_ways = 12, .l2_bytes = 2 << 20};
constexpr TargetTraits kAvx512 = {.vector_bytes = 64, .vector_registers = 32};
constexpr TargetTraits kAvx2 = {.vector_bytes = 32, .vector_registers = 16};

bool Allows(const MatmulForm& form, const TargetTraits& traits, const ContractionTile& tile) {
  const SearchSpace space = ScheduleSpace(form, traits, kCaches);
  const Point point = space.Nearest(AssignmentOf(tile));
  EXPECT_EQ(space.ValuesOf(point), AssignmentOf(tile));
  return space.Allows(point);
}

ContractionTile Tile(int rows, int panels, int64_t depth = 1024) {
  return {.rows = rows, .panels = panels, .task_rows = 8 * rows, .task_panels = 8, .depth = depth};
}

TEST(ScheduleSpace, HoldsTheCompilersSchedules) {
  for (const TargetTraits& traits : {kAvx512, kAvx2}) {
    for (const auto& [n, k] : {std::pair<int64_t, int64_t>{768, 768}, {3072, 768}, {250, 700}, {768, 3072}}) {
      const MatmulForm form{.n = n, .k = k};
      ContractionTile tile = cpu::ScheduleContraction(PlainMatmulPlan(form), traits).tile;
      EXPECT_TRUE(Allows(form, traits, tile)) << n << " x " << k << ", " << traits.vector_bytes;
    }
  }
}

TEST(ScheduleSpace, ForbidsWhatExceedsRegisters) {
  const MatmulForm form{.n = 768, .k = 768};
  EXPECT_TRUE(Allows(form, kAvx512, Tile(6, 4)));
  EXPECT_FALSE(Allows(form, kAvx512, Tile(7, 4)));  // 28 sums, 4 kept operands and a passing one
  EXPECT_TRUE(Allows({.n = 768, .k = 700}, kAvx512, Tile(14, 1)));
  EXPECT_FALSE(Allows({.n = 768, .k = 700}, kAvx512, Tile(13, 2)));  // addresses of rows
  EXPECT_TRUE(Allows(form, kAvx2, Tile(6, 1)));                      // a panel is two registers there
  EXPECT_FALSE(Allows(form, kAvx2, Tile(4, 2)));
}

TEST(ScheduleSpace, ForbidsRowsThatContendForASet) {
  EXPECT_TRUE(Allows({.n = 768, .k = 1000}, kAvx512, Tile(12, 2)));
  EXPECT_FALSE(Allows({.n = 768, .k = 1024}, kAvx512, Tile(12, 2)));  // 4 KiB apart: all in one set of 12 ways
}

TEST(ScheduleSpace, ForbidsTasksThatOutgrowL2) {
  ContractionTile tile = Tile(6, 4, 4096);
  EXPECT_TRUE(Allows({.n = 768, .k = 4096}, kAvx512, tile));
  tile.task_rows = 16 * tile.rows;
  EXPECT_FALSE(Allows({.n = 768, .k = 4096}, kAvx512, tile));
}

TEST(ScheduleSpace, ForbidsSumsWithoutRoom) {
  const MatmulForm deep{.n = 768, .k = 3000};
  EXPECT_TRUE(Allows(deep, kAvx512, Tile(6, 4)));
  // Lone rows take tiles of eight panels, where a task of two has room for eight panels in all.
  ContractionTile lone = {.rows = 1, .panels = 4, .task_rows = 2, .task_panels = 32, .depth = 128};
  EXPECT_FALSE(Allows(deep, kAvx512, lone));
  EXPECT_TRUE(Allows({.n = 768, .k = 128}, kAvx512, lone));  // no sums wait
}

TEST(ScheduleSpace, PenalisesLoadsUnevennessAndCode) {
  const SearchSpace space = ScheduleSpace({.n = 768, .k = 768}, kAvx512, kCaches);
  const auto penalty = [&](const ContractionTile& tile) { return space.Penalty(space.Nearest(AssignmentOf(tile))); };
  EXPECT_LT(penalty(Tile(6, 4)), penalty(Tile(5, 5)));   // 48 panels are no multiple of 5
  EXPECT_LT(penalty(Tile(6, 4)), penalty(Tile(12, 2)));  // 24 multiply-adds for 14 loads
  ContractionTile tall = Tile(6, 4);
  tall.tall_rows = 9, tall.tall_panels = 3;
  EXPECT_LT(penalty(Tile(6, 4)), penalty(tall));  // more micro-kernels
}

// Whatever is allowed computes the matmul: with depth blocks and without.
TEST(ScheduleSpace, AllowsOnlySchedulesThatCompute) {
  for (const int64_t k : {96, 600}) {
    const MatmulForm form{.n = 200, .k = k};
    const SearchSpace space = ScheduleSpace(form, HostCpuTarget().traits, ThisMachinesCaches());
    Random random(7);
    for (int i = 0; i < 8; ++i) {
      const ContractionTile tile = TileOf(space.ValuesOf(space.Draw(random)));
      const std::unique_ptr<PlainMatmul> matmul = PlainMatmul::Compile(form, tile);
      for (const int64_t m : {1, 2, 7, 13, 25, 61}) {
        PlainOperands operands(m, *form.n, k);
        operands.Bind (*matmul)();
        EXPECT_TRUE(operands.IsRight()) << m << " rows, tiles of " << tile.rows << "x" << tile.panels << ", depth "
                                        << tile.depth << " of " << k;
      }
    }
  }
}

TEST(ScheduleSpace, TilesAndAssignmentsAgree) {
  const ContractionTile tile = {
      .rows = 6, .panels = 3, .tall_rows = 9, .tall_panels = 2, .task_rows = 48, .task_panels = 16, .depth = 512};
  const ContractionTile back = TileOf(AssignmentOf(tile));
  EXPECT_EQ(AssignmentOf(back), AssignmentOf(tile));
  EXPECT_EQ(back.task_rows, 48);
  EXPECT_EQ(back.tall_panels, 2);
}

}  // namespace
}  // namespace tailor::tune
