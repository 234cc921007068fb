#include "fusion/rearrange_constants.h"

#include <gtest/gtest.h>

#include <cmath>
#include <memory>
#include <vector>

namespace tailor {
namespace {

class RearrangeConstants : public testing::Test {
 protected:
  NodeId Constant(const char* name, Shape shape, std::vector<float> numbers) {
    auto owner = std::make_shared<std::vector<float>>(std::move(numbers));
    const void* data = owner->data();
    return from_.AddConstant(name, DType::kF32, std::move(shape), {owner, data, owner->size() * 4, {}})->node;
  }

  std::vector<float> Numbers(Value v) const {
    const ConstantData& data = to_.constant_data(v.node);
    const auto* first = static_cast<const float*>(data.data);
    return {first, first + data.size / 4};
  }

  Graph from_, to_;
};

TEST_F(RearrangeConstants, MatricesSideBySide) {
  const NodeId a = Constant("a", {2, 2}, {1, 2, 3, 4}), b = Constant("b", {2, 1}, {5, 6});
  const Value joined = *JoinMatrices(from_, {a, b}, false, to_);
  EXPECT_EQ(to_.TypeText(to_.type(joined)), "f32[2, 3]");
  EXPECT_EQ(Numbers(joined), std::vector<float>({1, 2, 5, 3, 4, 6}));
  EXPECT_EQ(to_.node(joined.node).string("name"), "a+b");
}

TEST_F(RearrangeConstants, TransposedMatricesOneBelowTheOther) {
  const NodeId a = Constant("a", {2, 2}, {1, 2, 3, 4}), b = Constant("", {1, 2}, {5, 6});
  const Value joined = *JoinMatrices(from_, {a, b}, true, to_);
  EXPECT_EQ(to_.TypeText(to_.type(joined)), "f32[3, 2]");
  EXPECT_EQ(Numbers(joined), std::vector<float>({1, 2, 3, 4, 5, 6}));
  EXPECT_EQ(to_.node(joined.node).string("name"), "a");
}

TEST_F(RearrangeConstants, VectorsNumbersAndFillings) {
  const NodeId vector = Constant("", {1, 2}, {1, 2}), number = Constant("", {}, {3});
  const Value joined =
      *JoinVectors(from_, DType::kF32, {{vector, 0, 2}, {.fill = -0.0, .columns = 1}, {number, 0, 2}}, to_);
  EXPECT_EQ(Numbers(joined), std::vector<float>({1, 2, 0, 3, 3}));
  EXPECT_TRUE(std::signbit(Numbers(joined)[2]));
}

TEST_F(RearrangeConstants, EachOfSeveralMatricesIsTransposed) {
  const NodeId a = Constant("a", {2, 2, 3}, {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12});
  const Value transposed = *TransposeMatrices(from_, a, 2, 2, 3, {1, 2, 6}, to_);
  EXPECT_EQ(to_.TypeText(to_.type(transposed)), "f32[1, 2, 6]");
  EXPECT_EQ(Numbers(transposed), std::vector<float>({1, 4, 2, 5, 3, 6, 7, 10, 8, 11, 9, 12}));
}

TEST_F(RearrangeConstants, BytesThatStandInForOthersSaySo) {
  const float zero = 0;
  const NodeId a = from_.AddConstant("a", DType::kF32, Shape{1, 1}, {nullptr, &zero, 4, 17})->node;
  const NodeId b = from_.AddConstant("b", DType::kF32, Shape{1, 1}, {nullptr, &zero, 4, 18})->node;
  const Value ab = *JoinMatrices(from_, {a, b}, true, to_), ba = *JoinMatrices(from_, {b, a}, true, to_);
  ASSERT_TRUE(to_.constant_data(ab.node).declared_hash.has_value());
  EXPECT_NE(to_.constant_data(ab.node).Hash(), to_.constant_data(ba.node).Hash());
  const Value transposed = *TransposeMatrices(from_, a, 1, 1, 1, {1, 1}, to_);
  EXPECT_NE(to_.constant_data(transposed.node).Hash(), from_.constant_data(a).Hash());
}

}  // namespace
}  // namespace tailor
