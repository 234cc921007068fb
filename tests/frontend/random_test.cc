// Random numbers of a graph under construction (bindings/frontend/random.h).
#include "bindings/frontend/random.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <vector>

#include "bindings/frontend/error.h"

namespace tailor::frontend {
namespace {

using testing::ElementsAre;

class RandomTest : public testing::Test {
 protected:
  Tensor Word(uint64_t value) { return builder.Constant(Array::Integer(DType::kU64, static_cast<int64_t>(value))); }
  // Philox of constants, which folds.
  std::vector<int64_t> Block(const std::array<uint64_t, 4>& counter, uint64_t key) {
    const auto words = Philox({Word(counter[0]), Word(counter[1]), Word(counter[2]), Word(counter[3])}, Word(key));
    std::vector<int64_t> block;
    for (const Tensor& word : words) block.push_back(word.array()->integer(0));
    return block;
  }

  Builder builder{"g"};
};

// kat_vectors of Random123, philox4x32 10.
TEST_F(RandomTest, PhiloxGivesTheKnownAnswers) {
  EXPECT_THAT(Block({0, 0, 0, 0}, 0), ElementsAre(0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8));
  constexpr uint64_t kOnes = 0xffffffff;
  EXPECT_THAT(Block({kOnes, kOnes, kOnes, kOnes}, ~uint64_t{0}),
              ElementsAre(0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd));
  EXPECT_THAT(Block({0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, 0x299f31d0a4093822),
              ElementsAre(0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1));
}

TEST_F(RandomTest, PhiloxIgnoresUpperHalvesOfCounters) {
  constexpr uint64_t kMore = 0xabcdef0100000000;
  EXPECT_EQ(Block({1, 2, 3, 4}, 5), Block({kMore | 1, kMore | 2, kMore | 3, kMore | 4}, 5));
}

TEST_F(RandomTest, IterationsDiffer) {
  const auto run = [&](uint64_t number, int64_t iteration) {
    const RunState state{Word(7), Word(number)};
    const RunState inside = InIteration(state, builder.Number(iteration));
    EXPECT_EQ(inside.seed, state.seed);
    return inside.run.array()->integer(0);
  };
  std::vector<int64_t> numbers;
  for (int64_t number = 0; number < 20; ++number) {
    for (int64_t iteration = 0; iteration < 20; ++iteration)
      numbers.push_back(run(static_cast<uint64_t>(number), iteration));
  }
  std::sort(numbers.begin(), numbers.end());
  EXPECT_EQ(std::unique(numbers.begin(), numbers.end()), numbers.end());
}

TEST_F(RandomTest, SmallTensorsAreNoConstants) {
  const Tensor x = RandomStream::OfSeed(builder, 1).Uniform({3}, DType::kF32);
  EXPECT_TRUE(x.computed());
  EXPECT_THAT(x.shape(), ElementsAre(Dim(3)));
}

TEST_F(RandomTest, NodesShareOneRunState) {
  const RunState before = builder.run_state();
  RandomStream::OfNode(builder, 1).Uniform({2}, DType::kF32);
  RandomStream::OfNode(builder, 2).Normal({2}, DType::kF64);
  EXPECT_EQ(builder.run_state().seed, before.seed);
  EXPECT_EQ(builder.run_state().run, before.run);
}

}  // namespace
}  // namespace tailor::frontend
