// libtailor_onednn.so as a host uses it: matmuls by oneDNN agree with the program's own within rounding.
#include "tailor/onednn.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

namespace {

float FromBf16(uint16_t bits) {
  const uint32_t wide = static_cast<uint32_t>(bits) << 16;
  float value;
  std::memcpy(&value, &wide, sizeof value);
  return value;
}

// A product whose operands it owns, of small whole numbers: sums are exact in any order.
struct Product {
  Product(int32_t dtype, int32_t rhs_layout, int64_t batch, int64_t m, int64_t n, int64_t k) : n(n), k(k) {
    std::memset(&args, 0, sizeof args);
    args.struct_size = sizeof args;
    args.dtype = dtype;
    args.rhs_layout = rhs_layout;
    args.rhs_constant = rhs_layout != TAILOR_ROWS_AND_COLUMNS;
    args.threads = 2;
    args.batch = batch;
    args.m = m;
    args.n = n;
    args.k = k;
    Set(args.lhs_strides, {m * k, k, 1});
    Set(args.rhs_strides, {k * n, n, 1});
    const int64_t panels = (n + 15) / 16, rows = rhs_layout == TAILOR_PAIR_PANELS_16 ? (k + 1) / 2 * 2 : k;
    if (rhs_layout != TAILOR_ROWS_AND_COLUMNS) Set(args.rhs_strides, {panels * rows * 16, 0, 0});
    lhs.resize(batch * m * k);
    rhs.resize(batch * panels * 16 * rows);
    out.resize(batch * m * n);
    for (int64_t i = 0; i < batch * m * k; ++i) SetElement(lhs, i, Left(i));
    for (int64_t b = 0; b < batch; ++b) {
      for (int64_t i = 0; i < k; ++i) {
        for (int64_t j = 0; j < n; ++j) SetElement(rhs, RightAt(b, i, j), Right(b, i, j));
      }
    }
    args.lhs = lhs.data();
    args.rhs = rhs.data();
    args.out = out.data();
  }
  static void Set(int64_t* strides, const std::vector<int64_t>& values) {
    std::copy(values.begin(), values.end(), strides);
  }
  static float Left(int64_t i) { return static_cast<float>(i * 7 % 5 - 2); }
  static float Right(int64_t b, int64_t i, int64_t j) { return static_cast<float>((3 * b + 5 * i + j) % 5 - 2); }
  int64_t RightAt(int64_t b, int64_t i, int64_t j) const {
    const int64_t base = b * args.rhs_strides[0];
    if (args.rhs_layout == TAILOR_PANELS_16) return base + (j / 16 * k + i) * 16 + j % 16;
    if (args.rhs_layout == TAILOR_PAIR_PANELS_16) {
      return base + ((j / 16 * ((k + 1) / 2) + i / 2) * 16 + j % 16) * 2 + i % 2;
    }
    return base + i * args.rhs_strides[1] + j * args.rhs_strides[2];
  }
  void SetElement(std::vector<float>& to, int64_t at, float value) const {
    uint32_t bits;
    std::memcpy(&bits, &value, sizeof bits);
    if (args.dtype == TAILOR_F32) to[at] = value;
    const auto high = static_cast<uint16_t>(bits >> 16);
    if (args.dtype == TAILOR_BF16) std::memcpy(reinterpret_cast<char*>(to.data()) + 2 * at, &high, 2);
  }
  float Got(int64_t at) const {
    uint16_t bits;
    std::memcpy(&bits, reinterpret_cast<const char*>(out.data()) + 2 * at, 2);
    return args.dtype == TAILOR_F32 ? out[at] : FromBf16(bits);
  }
  void ExpectRight() const {
    for (int64_t b = 0; b < args.batch; ++b) {
      for (int64_t row = 0; row < args.m; ++row) {
        for (int64_t j = 0; j < n; ++j) {
          float sum = 0;
          for (int64_t i = 0; i < k; ++i) sum += Left((b * args.m + row) * k + i) * Right(b, i, j);
          ASSERT_EQ(Got((b * args.m + row) * n + j), sum) << b << ", " << row << ", " << j;
        }
      }
    }
  }

  int64_t n, k;
  tailor_product args;
  std::vector<float> lhs, rhs, out;
};

const tailor_product_provider& Provider() { return *tailor_onednn_product_provider(); }

void ExpectComputes(Product& product) {
  ASSERT_NE(Provider().take(Provider().user, &product.args), 0);
  ASSERT_EQ(Provider().multiply(Provider().user, &product.args), TAILOR_OK);
  product.ExpectRight();
}

void Forget(const Product& product) { Provider().forget(Provider().user, product.args.rhs); }

TEST(OneDnn, ReadsConstantsInPanels) {
  for (const int64_t m : {1, 5, 33}) {
    Product product(TAILOR_F32, TAILOR_PANELS_16, 1, m, 70, 48);
    ExpectComputes(product);
    Forget(product);
  }
}

TEST(OneDnn, ReadsBatchesAndTransposes) {
  Product product(TAILOR_F32, TAILOR_ROWS_AND_COLUMNS, 3, 7, 20, 9);
  ExpectComputes(product);
  Product panels(TAILOR_F32, TAILOR_PANELS_16, 3, 7, 20, 9);
  ExpectComputes(panels);
  Forget(panels);
}

TEST(OneDnn, ReadsPairsOfBf16WhereItHasKernelsForThem) {
  Product product(TAILOR_BF16, TAILOR_PAIR_PANELS_16, 1, 6, 37, 15);
  if (Provider().take(Provider().user, &product.args) == 0) GTEST_SKIP() << "oneDNN has no bf16 on this CPU";
  ExpectComputes(product);
  Forget(product);
}

TEST(OneDnn, AForgottenConstantIsReadAnew) {
  Product product(TAILOR_F32, TAILOR_PANELS_16, 1, 4, 16, 8);
  ExpectComputes(product);
  Forget(product);
  for (float& number : product.rhs) number *= 2;
  ASSERT_NE(Provider().take(Provider().user, &product.args), 0);
  const float before = product.Got(3);
  ASSERT_EQ(Provider().multiply(Provider().user, &product.args), TAILOR_OK);
  EXPECT_EQ(product.Got(3), 2 * before);
  Forget(product);
}

TEST(OneDnn, ThreadsMayUseItAtOnce) {
  std::vector<std::thread> threads;
  for (int t = 0; t < 3; ++t) {
    threads.emplace_back([t] {
      for (int64_t m = 1; m < 12; ++m) {
        Product product(TAILOR_F32, TAILOR_PANELS_16, 1, m + t, 33, 24);
        ExpectComputes(product);
        Forget(product);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
}

}  // namespace
