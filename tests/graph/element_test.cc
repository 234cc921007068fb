#include "graph/element.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <string>

namespace tailor {
namespace {

template <typename T>
T Converted(DType dtype, double value) {
  T element;
  ElementFromDouble(dtype, value, &element);
  return element;
}

TEST(Element, HalvesSurviveFloat) {
  for (uint32_t bits = 0; bits < 65536; ++bits) {
    float f16 = FloatFromF16(bits), bf16 = FloatFromBF16(bits);
    ASSERT_TRUE(std::isnan(f16) || F16FromFloat(f16) == bits) << bits;
    ASSERT_TRUE(std::isnan(bf16) || BF16FromFloat(bf16) == bits) << bits;
    ASSERT_EQ(std::isnan(f16), std::isnan(FloatFromF16(F16FromFloat(f16))));
  }
}

TEST(Element, HalvesRoundToNearestEven) {
  for (uint32_t bits = 0; bits < 0x7bff; ++bits) {  // between each pair of finite neighbours
    float low = FloatFromF16(bits), high = FloatFromF16(bits + 1), middle = (low + high) / 2;
    ASSERT_EQ(F16FromFloat(middle), bits + (bits & 1)) << bits;
    ASSERT_EQ(F16FromFloat(std::nextafter(middle, 0.0f)), bits);
    ASSERT_EQ(F16FromFloat(-std::nextafter(middle, 1e9f)), (bits + 1) | 0x8000);
  }
  EXPECT_EQ(F16FromFloat(65519.0f), 0x7bff);
  EXPECT_EQ(F16FromFloat(65520.0f), 0x7c00);
  EXPECT_EQ(BF16FromFloat(1.00390625f), 0x3f80);  // a tie, to even
  EXPECT_EQ(BF16FromFloat(1.01171875f), 0x3f82);
  EXPECT_EQ(BF16FromFloat(3.4e38f), 0x7f80);
}

TEST(Element, IntegersSaturate) {
  EXPECT_EQ(Converted<int8_t>(DType::kI8, 200), 127);
  EXPECT_EQ(Converted<int8_t>(DType::kI8, -3.7), -3);
  EXPECT_EQ(Converted<uint8_t>(DType::kU8, -1), 0);
  EXPECT_EQ(Converted<int64_t>(DType::kI64, 1e300), INT64_MAX);
  EXPECT_EQ(Converted<int32_t>(DType::kI32, std::nan("")), 0);
  EXPECT_EQ(Converted<uint8_t>(DType::kBool, 0.25), 1);
}

TEST(Element, SurvivesDouble) {
  for (int i = 1; i < kDTypeCount; ++i) {
    const auto dtype = static_cast<DType>(i);
    for (const char* text : {"0", "1", "3", "100"}) {
      uint64_t element = 0, back = 0;
      if (dtype == DType::kBool) {
        element = text[0] != '0';
      } else {
        ASSERT_TRUE(ParseElement(dtype, text, &element)) << NameOf(dtype);
      }
      const double value = ElementToDouble(dtype, &element);
      EXPECT_EQ(value, dtype == DType::kBool ? text[0] != '0' : std::stod(text)) << NameOf(dtype);
      ElementFromDouble(dtype, value, &back);
      EXPECT_EQ(back, element) << NameOf(dtype) << " " << text;
    }
  }
  for (const char* text : {"-0.375", "inf", "-inf", "nan"}) {
    for (DType dtype : {DType::kF16, DType::kBF16, DType::kF32, DType::kF64}) {
      uint64_t element = 0;
      ASSERT_TRUE(ParseElement(dtype, text, &element));
      EXPECT_EQ(DoubleText(ElementToDouble(dtype, &element)), text) << NameOf(dtype);
    }
  }
  const int8_t negative = -7;
  EXPECT_EQ(ElementToDouble(DType::kI8, &negative), -7);
}

TEST(Element, TextReadsBack) {
  const struct {
    DType dtype;
    const char* text;
  } cases[] = {{DType::kF32, "0.1"},
               {DType::kF32, "1e-45"},
               {DType::kF64, "0.1"},
               {DType::kF64, "-inf"},
               {DType::kF16, "0.5"},
               {DType::kBF16, "-3"},
               {DType::kBool, "true"},
               {DType::kI64, "-9223372036854775808"},
               {DType::kU64, "18446744073709551615"},
               {DType::kI8, "-128"},
               {DType::kF32, "nan"}};
  for (const auto& c : cases) {
    uint64_t element = 0;
    ASSERT_TRUE(ParseElement(c.dtype, c.text, &element)) << c.text;
    EXPECT_EQ(ElementText(c.dtype, &element), c.text);
  }
  uint64_t element = 0;
  for (auto [dtype, text] : {std::pair(DType::kI8, "128"),
                             {DType::kU8, "-1"},
                             {DType::kI32, "0.5"},
                             {DType::kBool, "1"},
                             {DType::kF32, "x"},
                             {DType::kF32, "1 "}}) {
    EXPECT_FALSE(ParseElement(dtype, text, &element)) << NameOf(dtype) << " " << text;
  }
}

}  // namespace
}  // namespace tailor
