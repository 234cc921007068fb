#include "codegen/host/emit/emit_first_fit.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/codegen/link/ir_image.h"

namespace tailor::host {
namespace {

using ::testing::ElementsAre;

// A block and the steps between which it is live.
using Block = LiveInterval;

// Blocks in order of index.
MemoryPlan InOrder(const std::vector<Block>& blocks) {
  MemoryPlan plan;
  for (int i = 0; i < static_cast<int>(blocks.size()); ++i) {
    plan.order.push_back(i);
    plan.conflicts.emplace_back();
    for (int j = 0; j < i; ++j) {
      if (blocks[i].first <= blocks[j].last && blocks[j].first <= blocks[i].last) plan.conflicts.back().push_back(j);
    }
  }
  return plan;
}

TEST(PlacementTable, ListsBlocksWithTheirConflicts) {
  EXPECT_THAT(PlacementTable({{2, 0, 1}, {{}, {2}, {2, 0}}}), ElementsAre(2, 0, 0, 1, 2, 1, 2, 2, 0));
}

class FirstFit : public ::testing::Test {
 protected:
  void SetUp() override {
    auto module = std::make_unique<llvm::Module>("place", context_);
    auto function = EmitFirstFit(*module);
    ASSERT_TRUE(function.ok()) << function.status();
    (*function)->setLinkage(llvm::GlobalValue::ExternalLinkage);
    std::vector<std::unique_ptr<llvm::MemoryBuffer>> objects;
    objects.push_back(CompileIr(std::move(module)));
    auto image = LinkImage(std::move(objects), {"tailor.first_fit"});
    ASSERT_TRUE(image.ok()) << image.status();
    image_ = std::make_unique<CodeImage>(*image);
  }

  int64_t Place(const std::vector<Block>& blocks, const std::vector<int64_t>& sizes) {
    const MemoryPlan plan = InOrder(blocks);
    const std::vector<int32_t> table = PlacementTable(plan);
    offsets_.assign(sizes.size(), -1);
    using Fn = int64_t (*)(const int64_t*, int64_t*, const int32_t*, int64_t);
    const int64_t bytes = image_->Find<Fn>("tailor.first_fit")(sizes.data(), offsets_.data(), table.data(),
                                                               static_cast<int64_t>(blocks.size()));
    const Placement reference = PlaceBlocks(plan, sizes);
    EXPECT_EQ(offsets_, reference.offsets);
    EXPECT_EQ(bytes, reference.bytes);
    return bytes;
  }

  llvm::LLVMContext context_;
  std::unique_ptr<CodeImage> image_;
  std::vector<int64_t> offsets_;
};

TEST_F(FirstFit, ReusesWhatIsDead) {
  EXPECT_EQ(Place({{0, 1}, {1, 2}, {2, 3}}, {128, 64, 128}), 192);
  EXPECT_THAT(offsets_, ElementsAre(0, 128, 0));
}

TEST_F(FirstFit, FillsTheLowestHoleThatIsLargeEnough) {
  // Block 3 lives with 0 and 2 but not with 1, whose place between them it takes.
  EXPECT_EQ(Place({{0, 9}, {0, 3}, {0, 9}, {4, 9}}, {64, 128, 64, 128}), 256);
  EXPECT_THAT(offsets_, ElementsAre(0, 64, 192, 64));
  EXPECT_EQ(Place({{0, 9}, {0, 3}, {0, 9}, {4, 9}}, {64, 128, 64, 192}), 448);
  EXPECT_THAT(offsets_, ElementsAre(0, 64, 192, 256));
}

TEST_F(FirstFit, StartsOverWhenANeighbourPushesIntoAnother) {
  // Block 1 is placed at 64, above 0; block 2 then takes the bottom. Block 3 is pushed by 2 into 1.
  EXPECT_EQ(Place({{0, 3}, {0, 9}, {4, 9}, {4, 9}}, {64, 64, 64, 64}), 192);
  EXPECT_THAT(offsets_, ElementsAre(0, 64, 0, 128));
}

TEST_F(FirstFit, EmptyBlocksTakeNoRoom) { EXPECT_EQ(Place({{0, 1}, {0, 1}}, {0, 64}), 64); }

}  // namespace
}  // namespace tailor::host
