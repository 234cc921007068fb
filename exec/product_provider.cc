#include "exec/product_provider.h"

namespace tailor {
namespace {

const tailor_product* ToC(const ProductArgs& product) { return reinterpret_cast<const tailor_product*>(&product); }

}  // namespace

bool TakesProduct(const ProductProvider& provider, const ProductArgs& product) {
  if (provider.take == nullptr) return false;
  if (product.batch < 1 || product.m < 1 || product.n < 1 || product.k < 1) return false;
  return provider.choice.Takes(product) && provider.take(provider.user, ToC(product)) != 0;
}

int32_t Multiply(const ProductProvider& provider, const ProductArgs& product) {
  return provider.multiply(provider.user, ToC(product));
}

}  // namespace tailor
