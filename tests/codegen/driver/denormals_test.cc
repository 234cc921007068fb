#include "codegen/driver/denormals.h"

#include <limits>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace tailor::driver {
namespace {

using testing::HasSubstr;

template <typename T>
bool Has(DType dtype, const std::vector<T>& elements) {
  return HasDenormals(dtype, elements.data(), static_cast<int64_t>(elements.size()));
}

TEST(Denormals, AreBelowTheLeastNormalAndNotZero) {
  using Single = std::numeric_limits<float>;
  using Double = std::numeric_limits<double>;
  EXPECT_FALSE(Has<float>(DType::kF32, {0.0f, -0.0f, 1.0f, Single::min(), -Single::min(), -Single::infinity(),
                                        Single::quiet_NaN(), Single::max()}));
  EXPECT_TRUE(Has<float>(DType::kF32, {1.0f, Single::denorm_min()}));
  EXPECT_TRUE(Has<float>(DType::kF32, {-Single::min() / 2}));
  EXPECT_FALSE(Has<double>(DType::kF64, {0.0, -0.0, Double::min(), Single::denorm_min()}));
  EXPECT_TRUE(Has<double>(DType::kF64, {-Double::denorm_min()}));
  EXPECT_FALSE(Has<uint16_t>(DType::kBF16, {0, 0x8000, 0x0080, 0x7f80, 0x3f80}));
  EXPECT_TRUE(Has<uint16_t>(DType::kBF16, {0x807f}));
  EXPECT_FALSE(Has<uint16_t>(DType::kF16, {0x0001}));
  EXPECT_FALSE(Has<int32_t>(DType::kI32, {1}));
}

TEST(Denormals, AreFoundAnywhere) {
  for (const size_t count : {1, 15, 16, 17, 4096, 4097, 10000}) {
    std::vector<float> elements(count, 1.0f);
    EXPECT_FALSE(Has(DType::kF32, elements)) << count;
    elements.back() = 1e-40f;
    EXPECT_TRUE(Has(DType::kF32, elements)) << count;
  }
}

TEST(Denormals, OfWeightsAreFlushedUnlessKept) {
  const std::vector<float> elements(257, 1e-40f);
  lower::LoweredProgram::Constant constant;
  constant.name = "w";
  constant.type.dtype = DType::kF32;
  constant.data.data = elements.data();
  const auto reason = [&](Denormals denormals, size_t count) {
    constant.data.size = count * sizeof(float);
    return ReasonToFlush(denormals, {&constant, 1});
  };
  EXPECT_THAT(reason(Denormals::kAuto, 257), HasSubstr(R"(the constant "w" has denormal elements)"));
  EXPECT_EQ(reason(Denormals::kAuto, 256), "") << "a table of bytes";
  EXPECT_EQ(reason(Denormals::kKeep, 257), "");
  EXPECT_THAT(reason(Denormals::kFlush, 15), HasSubstr("denormals=flush"));
}

}  // namespace
}  // namespace tailor::driver
