#include "codegen/emit_first_fit.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/codegen/ir_image.h"

namespace tailor {
namespace {

using ::testing::ElementsAre;

HostBuffer Block(int index, int first, int last) {
  HostBuffer buffer{HostBuffer::Place::kWorkspace, index, DType::kF32, {}};
  buffer.first_step = first;
  buffer.last_step = last;
  return buffer;
}

TEST(PlacementTable, ListsEarlierBlocksThatAreLiveTogether) {
  HostProgram program;
  program.buffers = {Block(0, 0, 1), HostBuffer{HostBuffer::Place::kInput, 0}, Block(1, 1, 2), Block(2, 2, 3)};
  EXPECT_THAT(PlacementTable(program), ElementsAre(0, 0, 1, 1, 0, 2, 1, 1));
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
    image_ = std::make_unique<MappedImage>(*image);
  }

  int64_t Place(const std::vector<HostBuffer>& blocks, const std::vector<int64_t>& sizes) {
    HostProgram program;
    program.buffers = blocks;
    const std::vector<int32_t> table = PlacementTable(program);
    offsets_.assign(sizes.size(), -1);
    using Fn = int64_t (*)(const int64_t*, int64_t*, const int32_t*, int64_t);
    return image_->Find<Fn>("tailor.first_fit")(sizes.data(), offsets_.data(), table.data(),
                                                static_cast<int64_t>(blocks.size()));
  }

  llvm::LLVMContext context_;
  std::unique_ptr<MappedImage> image_;
  std::vector<int64_t> offsets_;
};

TEST_F(FirstFit, ReusesWhatIsDead) {
  EXPECT_EQ(Place({Block(0, 0, 1), Block(1, 1, 2), Block(2, 2, 3)}, {128, 64, 128}), 192);
  EXPECT_THAT(offsets_, ElementsAre(0, 128, 0));
}

TEST_F(FirstFit, FillsTheLowestHoleThatIsLargeEnough) {
  // Block 3 lives with 0 and 2 but not with 1, whose place between them it takes.
  EXPECT_EQ(Place({Block(0, 0, 9), Block(1, 0, 3), Block(2, 0, 9), Block(3, 4, 9)}, {64, 128, 64, 128}), 256);
  EXPECT_THAT(offsets_, ElementsAre(0, 64, 192, 64));
  EXPECT_EQ(Place({Block(0, 0, 9), Block(1, 0, 3), Block(2, 0, 9), Block(3, 4, 9)}, {64, 128, 64, 192}), 448);
  EXPECT_THAT(offsets_, ElementsAre(0, 64, 192, 256));
}

TEST_F(FirstFit, StartsOverWhenANeighbourPushesIntoAnother) {
  // Block 1 is placed at 64, above 0; block 2 then takes the bottom. Block 3 is pushed by 2 into 1.
  EXPECT_EQ(Place({Block(0, 0, 3), Block(1, 0, 9), Block(2, 4, 9), Block(3, 4, 9)}, {64, 64, 64, 64}), 192);
  EXPECT_THAT(offsets_, ElementsAre(0, 64, 0, 128));
}

TEST_F(FirstFit, EmptyBlocksTakeNoRoom) {
  EXPECT_EQ(Place({Block(0, 0, 1), Block(1, 0, 1)}, {0, 64}), 64);
}

}  // namespace
}  // namespace tailor
