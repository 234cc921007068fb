#include "exec/product_provider.h"

namespace tailor {
namespace {

const tailor_product* ToC(const ProductArgs& product) { return reinterpret_cast<const tailor_product*>(&product); }

}  // namespace

bool IsAskedFor(const ProductProvider& provider, const ProductArgs& product) {
  return product.batch >= 1 && product.m >= 1 && product.n >= 1 && product.k >= 1 && provider.choice.Takes(product);
}

bool TakesProduct(const ProductProvider& provider, const ProductArgs& product) {
  return provider.take != nullptr && IsAskedFor(provider, product) && provider.take(provider.user, ToC(product)) != 0;
}

int32_t Multiply(const ProductProvider& provider, const ProductArgs& product) {
  return provider.multiply(provider.user, ToC(product));
}

}  // namespace tailor
