// Mirrors codegen/cpu/tiling/tiling_model.cc, tiling_cost.h and emit_tiling_choice.cc.
#include "codegen/cpu/tiling/tiling_model.h"

#include <algorithm>
#include <memory>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "codegen/contract/panels.h"
#include "codegen/cpu/schedule/schedule_contraction.h"
#include "codegen/cpu/tiling/emit_tiling_choice.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/codegen/cpu/gemm/gemm_case.h"
#include "tests/codegen/link/ir_image.h"

namespace tailor::gemm {
namespace {

constexpr ContractionTile kTile = {.rows = 6, .panels = 4, .task_rows = 48, .task_panels = 4};
constexpr MatmulTiling kPlain = {.rows = 6, .panels = 4};

// Every tile costs its rows times panels a step, and nothing else costs anything.
CostProfile OnePerPanelRow() {
  CostProfile profile;
  for (int rows = 1; rows <= CostProfile::kRows; ++rows) {
    for (int panels = 1; panels <= CostProfile::kPanels; ++panels) {
      const auto step = static_cast<float>(rows * panels);
      profile.Of(rows, panels) = {0, step, step, 0};
    }
  }
  return profile;
}

TEST(PredictTiling, IsPiecewiseLinearInDepth) {
  CostProfile profile;
  profile.Of(5, 4) = {100, 2, 3, 0};
  const auto predict = [&](int64_t k) { return PredictTiling(kPlain, kTile, {.m = 5, .n = 64, .k = k}, profile); };
  EXPECT_EQ(predict(0), 0);
  EXPECT_EQ(predict(10), 100 + 2 * 10);
  EXPECT_EQ(predict(256), 100 + 2 * 256);
  EXPECT_EQ(predict(1000), 100 + 2 * 256 + 3 * 744);
  EXPECT_EQ(predict(1025), 2 * 100 + 2 * 256 + 3 * 769) << "the sums are visited twice";
}

TEST(PredictTiling, CountsTheTilesOfEachPattern) {
  const CostProfile even = OnePerPanelRow();
  for (const bool whole_rows : {false, true}) {
    for (const bool whole_panels : {false, true}) {
      MatmulTiling tiling = kPlain;
      tiling.whole_rows = whole_rows, tiling.whole_panels = whole_panels;
      EXPECT_EQ(PredictTiling(tiling, kTile, {.m = 13, .n = 9 * 16, .k = 1, .batch = 3}, even), 3 * 13 * 9);
      EXPECT_EQ(PredictTiling(tiling, kTile, {.m = 0, .n = 9 * 16, .k = 1}, even), 0);
      EXPECT_EQ(PredictTiling(tiling, kTile, {.m = 13, .n = 0, .k = 1}, even), 0);
    }
  }
  CostProfile sixes;  // 13 rows are 5 + 4 + 4, or 6 + 6 + 1
  sixes.Of(5, 4).fixed = sixes.Of(4, 4).fixed = 1;
  sixes.Of(6, 4).fixed = 100, sixes.Of(1, 4).fixed = 1000;
  EXPECT_EQ(PredictTiling(kPlain, kTile, {.m = 13, .n = 64, .k = 1}, sixes), 3);
  MatmulTiling whole = kPlain;
  whole.whole_rows = true;
  EXPECT_EQ(PredictTiling(whole, kTile, {.m = 13, .n = 64, .k = 1}, sixes), 1200);
}

TEST(PredictTiling, LargePanelsAreWaitedFor) {
  CostProfile profile = OnePerPanelRow();
  profile.cached_bytes = 64 * 4 * 10;
  profile.line_ns = 7;
  MatmulShape one_tile = {.m = 5, .n = 64, .k = 10};
  EXPECT_EQ(PredictTiling(kPlain, kTile, one_tile, profile), 5 * 4 * 10) << "they stay in cache";
  one_tile.k = 11;
  EXPECT_EQ(PredictTiling(kPlain, kTile, one_tile, profile), 7 * 4 * 11);
  // Two tiles: the first waits, the second finds its panels and hides some of the wait of the next first.
  MatmulShape two_tiles = {.m = 8, .n = 64, .k = 11};
  EXPECT_EQ(PredictTiling(kPlain, kTile, two_tiles, profile), (7 + 4) * 4 * 11);
  profile.fetch_overlap = 0.5f;
  EXPECT_EQ(PredictTiling(kPlain, kTile, two_tiles, profile), (5 + 4) * 4 * 11);
}

TEST(PredictTiling, TheThreadWithMostTurnsCounts) {
  CostProfile profile = OnePerPanelRow();
  profile.fork_ns = 1000, profile.chunk_ns = 10;
  // Three blocks of four panels for two threads: two turns for one of them.
  const MatmulShape dim_sizes = {.m = 40, .n = 3 * 64, .k = 500, .threads = 2};
  const float block = 40 * 4 * 500;
  EXPECT_EQ(PredictTiling(kPlain, kTile, dim_sizes, profile), 2 * block + 1000 + 2 * 10);
  MatmulTiling halves = kPlain;
  halves.task_panels = 2;  // three turns of half a block
  EXPECT_EQ(PredictTiling(halves, kTile, dim_sizes, profile), 3 * block / 2 + 1000 + 3 * 10);
}

TEST(TilingChunk, GivesThreadsEqualShares) {
  MatmulShape dim_sizes = {.m = 8, .n = 6 * 64, .k = 96, .threads = 2};  // five tasks are worth a turn
  EXPECT_EQ(TilingTasks(kPlain, dim_sizes), 6);
  EXPECT_EQ(TilingChunk(kPlain, kTile, dim_sizes), 3);
  dim_sizes.threads = 1;
  EXPECT_EQ(TilingChunk(kPlain, kTile, dim_sizes), 3);
  dim_sizes.k = 10000;
  EXPECT_EQ(TilingChunk(kPlain, kTile, dim_sizes), 1);
}

TEST(TilingChunk, ManyThreadsDoNotShareLittleWork) {
  MatmulShape dim_sizes = {.m = 8, .n = 6 * 64, .k = 96, .threads = 16};
  EXPECT_EQ(TilingChunk(kPlain, kTile, dim_sizes), 3);  // worth two turns
  dim_sizes.k = 8;
  EXPECT_EQ(TilingChunk(kPlain, kTile, dim_sizes), 6);
}

TEST(ChooseTiling, IsTheRulesWhereNothingIsFaster) {
  ContractionTile tile = kTile;
  tile.tilings = TilingFamily(FindCpuTarget("x86-64-v4")->traits, 1, tile, true);
  const CostProfile even = OnePerPanelRow();
  for (int64_t m = 0; m < 60; ++m) {
    EXPECT_EQ(ChooseTiling(tile, 1, {.m = m, .n = 1000, .k = 300}, even), RuleTiling(tile, 1, m)) << m;
  }
}

TEST(ChooseTiling, TakesWhatIsFasterByMoreThanTheMargin) {
  ContractionTile tile = kTile;
  tile.tilings = {{.rows = 12, .panels = 2, .least_m = 10, .most_m = 24}};
  CostProfile profile = OnePerPanelRow();
  profile.margin = 0.05f;
  profile.Of(11, 2).near_step = 0.96f * 22;
  EXPECT_EQ(ChooseTiling(tile, 1, {.m = 11, .n = 64, .k = 100}, profile), RuleTiling(tile, 1, 11));
  profile.Of(11, 2).near_step = 0.94f * 22;
  EXPECT_EQ(ChooseTiling(tile, 1, {.m = 11, .n = 64, .k = 100}, profile), tile.tilings[0]);
  tile.tilings[0].least_m = 12;
  EXPECT_EQ(ChooseTiling(tile, 1, {.m = 11, .n = 64, .k = 100}, profile), RuleTiling(tile, 1, 11));
}

TEST(WorthwhileTilings, AreFewAndInOrder) {
  const std::vector<MatmulTiling> family = TilingFamily(FindCpuTarget("x86-64-v4")->traits, 1, kTile, true);
  CostProfile profile = OnePerPanelRow();
  const std::vector<MatmulShape> samples = {{.m = 11, .n = 1024, .k = 1024}, {.m = 7, .n = 1024, .k = 64}};
  EXPECT_THAT(WorthwhileTilings(family, kTile, 1, samples, {&profile}), testing::IsEmpty());
  profile.Of(11, 2).far_step = 1;
  const std::vector<MatmulTiling> kept = WorthwhileTilings(family, kTile, 1, samples, {&profile});
  ASSERT_EQ(kept.size(), 1);
  EXPECT_EQ(TilingText(kept[0]), "12x2 panels, task 48 rows x 4 panels, m in [7, 48]");
  const CostProfile other = OnePerPanelRow();  // one machine is enough
  EXPECT_EQ(WorthwhileTilings(family, kTile, 1, samples, {&other, &profile}), kept);
  const CostProfile unknown;  // tiles that were not measured are not compared
  EXPECT_THAT(WorthwhileTilings(family, kTile, 1, samples, {&unknown}), testing::IsEmpty());
}

TEST(WorthwhileTilings, GoWhereLaterOnesAreBetter) {
  const std::vector<MatmulTiling> family = TilingFamily(FindCpuTarget("x86-64-v4")->traits, 1, kTile, true);
  const std::vector<MatmulShape> samples = {{.m = 11, .n = 1024, .k = 1024}};
  const auto first = [&](const CostProfile& profile) {
    const std::vector<MatmulTiling> kept = WorthwhileTilings(family, kTile, 1, samples, {&profile});
    EXPECT_EQ(kept.size(), 1);
    return kept.empty() ? "" : TilingText(kept[0]);
  };
  CostProfile profile = OnePerPanelRow();
  profile.Of(11, 2).far_step *= 0.9f;
  EXPECT_EQ(first(profile), "12x2 panels, task 48 rows x 4 panels, m in [7, 48]");
  profile.Of(10, 2).far_step = profile.Of(1, 2).far_step = 1;  // 10 + 1, which the family has after 12
  EXPECT_EQ(first(profile), "whole 10x2 panels, task 40 rows x 4 panels, m in [7, 40]");
}

// ---- The same as code ----------------------------------------------------------------------------------

struct Choice {
  uint64_t word;
  int64_t tasks, tasks_per_chunk;
};

// The choices for several tiles, in one module.
class EmittedChoice {
 public:
  EmittedChoice(const std::vector<ContractionTile>& tiles, int pieces, const CpuTarget& target) {
    llvm::LLVMContext context;
    auto module = std::make_unique<llvm::Module>("choice", context);
    std::vector<std::string> names;
    for (const ContractionTile& tile : tiles) {
      names.push_back(absl::StrCat("entry", names.size()));
      EmitEntry(EmitTilingChoice(tile, pieces, *module), names.back(), *module);
    }
    std::vector<std::unique_ptr<llvm::MemoryBuffer>> objects;
    objects.push_back(CompileIr(std::move(module), target));
    image_ = std::make_unique<CodeImage>(*LinkImage(std::move(objects), names), target);
  }

  Choice Run(const MatmulShape& e, const CostProfile& costs, size_t tile = 0) const {
    Choice out;
    using Entry = void (*)(Choice*, const CostProfile*, int64_t, int64_t, int64_t, int64_t, int64_t);
    image_->Find<Entry>(absl::StrCat("entry", tile).c_str())(&out, &costs, e.threads, e.m, e.n, e.k, e.batch);
    return out;
  }

 private:
  // void @name(ptr out, ptr costs, i64...): the choice's three results in memory.
  static void EmitEntry(const TilingChoice& choice, const std::string& name, llvm::Module& module) {
    llvm::IRBuilder<> b(module.getContext());
    std::vector<llvm::Type*> types(7, b.getInt64Ty());
    types[0] = types[1] = b.getPtrTy();
    auto* entry = llvm::Function::Create(llvm::FunctionType::get(b.getVoidTy(), types, false),
                                         llvm::GlobalValue::ExternalLinkage, name, module);
    b.SetInsertPoint(llvm::BasicBlock::Create(module.getContext(), "entry", entry));
    std::vector<llvm::Value*> arguments = {entry->getArg(1), choice.candidates};
    for (size_t i = 2; i < types.size(); ++i) arguments.push_back(entry->getArg(i));
    b.CreateStore(b.CreateCall(choice.function, arguments), entry->getArg(0));
    b.CreateRetVoid();
  }

  std::unique_ptr<CodeImage> image_;
};

// Over shapes of all kinds, each with some of its dim sizes small.
TEST(EmitTilingChoice, ChoosesAsTheModelDoes) {
  for (const char* name : {"x86-64-v2", "x86-64-v3", "x86-64-v4"}) {
    const CpuTarget target = *FindCpuTarget(name);
    if (!RunsOrSays(name)) continue;
    SCOPED_TRACE(name);
    Schedule schedule = cpu::ScheduleContraction(MakeMatmulPlan({.n = 1000, .k = 1000}), target.traits);
    const int pieces = kPanelColumns / schedule.lanes;
    ContractionTile& tile = schedule.tile;
    CostProfile profile = BuiltInCostProfile(name);
    std::mt19937 random(5);
    for (const size_t tilings : {0, 1, 5, kMostTilings}) {
      const std::vector<MatmulTiling> family = TilingFamily(target.traits, pieces, tile, true);
      tile.tilings.clear();
      while (tile.tilings.size() < tilings) tile.tilings.push_back(family[random() % family.size()]);
      ContractionTile other = tile;  // of long runs of few rows
      other.task_rows = 12;
      other.task_panels = 42;
      other.depth = 48;
      std::reverse(other.tilings.begin(), other.tilings.end());
      const std::vector<ContractionTile> tiles = {other, tile};
      const EmittedChoice choice(tiles, pieces, target);
      std::set<uint64_t> words;
      for (int i = 0; i < 4000; ++i) {
        const size_t which = i / 2 % 2;
        const auto dim_size = [&](int bits) { return static_cast<int64_t>(random() >> (32 - random() % (bits + 1))); };
        const int most = i % 10 == 0 ? 31 : 14;  // bits
        const MatmulShape dim_sizes = {dim_size(i % 2 == 0 ? 5 : most), dim_size(most), dim_size(most), 1 + dim_size(3),
                                       1 + static_cast<int64_t>(random() % 5)};
        const MatmulTiling expected = ChooseTiling(tiles[which], pieces, dim_sizes, profile);
        const Choice chosen = choice.Run(dim_sizes, profile, which);
        ASSERT_EQ(chosen.word, TilingWord(expected, profile.prefetch_distance))
            << TilingText(expected) << " of " << dim_sizes.m << " x " << dim_sizes.k << " x " << dim_sizes.n;
        ASSERT_EQ(chosen.tasks, TilingTasks(expected, dim_sizes));
        ASSERT_EQ(chosen.tasks_per_chunk, TilingChunk(expected, tiles[which], dim_sizes));
        words.insert(chosen.word);
      }
      EXPECT_GE(words.size(), std::min<size_t>(tilings, 2)) << tilings << " tilings";
    }
  }
}

// What the code has of a tile is the rule: task_panels limit the panels of few rows.
TEST(EmitTilingChoice, TilesWithOneRuleShareTheCode) {
  llvm::LLVMContext context;
  llvm::Module module("choice", context);
  ContractionTile tile = kTile;
  tile.task_panels = 8;
  tile.tilings = {{.rows = 12, .panels = 2}};
  const TilingChoice first = EmitTilingChoice(tile, 1, module), again = EmitTilingChoice(tile, 1, module);
  EXPECT_EQ(first.function, again.function);
  EXPECT_EQ(first.candidates, again.candidates);
  tile.task_panels = 42;
  tile.depth /= 2;
  tile.tilings = {{.rows = 9, .panels = 3, .whole_panels = true}};
  const TilingChoice other = EmitTilingChoice(tile, 1, module);
  EXPECT_EQ(first.function, other.function);
  EXPECT_NE(first.candidates, other.candidates);
  const auto differs = [&](auto change) {
    ContractionTile changed = tile;
    change(changed);
    return EmitTilingChoice(changed, 1, module).function != other.function;
  };
  EXPECT_TRUE(differs([](ContractionTile& t) { t.task_panels = 4; }));
  EXPECT_TRUE(differs([](ContractionTile& t) { t.tilings.resize(2); }));  // more lanes
  EXPECT_TRUE(differs([](ContractionTile& t) { ++t.rows; }));
  EXPECT_TRUE(differs([](ContractionTile& t) { t.tall_rows = 9, t.tall_panels = 3; }));
  EXPECT_TRUE(differs([](ContractionTile& t) { --t.panels; }));
}

TEST(EmitTilingChoice, ReadsTheTableThatItIsGiven) {
  ContractionTile tile = kTile;
  tile.tilings = {{.rows = 12, .panels = 2}};
  const EmittedChoice choice({tile}, 1, HostCpuTarget());
  CostProfile profile = OnePerPanelRow();
  const MatmulShape dim_sizes = {.m = 11, .n = 64, .k = 100};
  EXPECT_EQ(choice.Run(dim_sizes, profile).word, TilingWord(RuleTiling(tile, 1, 11), profile.prefetch_distance));
  profile.Of(11, 2).near_step = 1;
  profile.prefetch_distance = CostProfile::kMaxPrefetchDistance;
  EXPECT_EQ(choice.Run(dim_sizes, profile).word, TilingWord(tile.tilings[0], CostProfile::kMaxPrefetchDistance));
}

}  // namespace
}  // namespace tailor::gemm
