// A library that computes matrix products for programs which offer them (RtApi::offer, DISC section 4.5). Plain
// function pointers of the host's; they are called on any thread.
#ifndef TAILOR_EXEC_PRODUCT_PROVIDER_H_
#define TAILOR_EXEC_PRODUCT_PROVIDER_H_

#include <cstdint>

#include "exec/host_abi.h"
#include "exec/product_choice.h"

struct tailor_product;  // tailor/runtime.h: a ProductArgs

namespace tailor {

struct ProductProvider {
  void* user = nullptr;
  // Whether it computes such products; not 0 promises that.
  int32_t (*take)(void* user, const tailor_product* product) = nullptr;
  int32_t (*multiply)(void* user, const tailor_product* product) = nullptr;  // 0: done
  void (*forget)(void* user, const void* rhs) = nullptr;                     // that constant is gone; may be null
  ProductChoice choice;                                                      // which products it is asked for
};

// Whether `product` has elements and is one of the provider's choice.
bool IsAskedFor(const ProductProvider& provider, const ProductArgs& product);
// Whether `provider` takes `product`, which it is then asked for.
bool TakesProduct(const ProductProvider& provider, const ProductArgs& product);
// Its return code.
int32_t Multiply(const ProductProvider& provider, const ProductArgs& product);

}  // namespace tailor

#endif  // TAILOR_EXEC_PRODUCT_PROVIDER_H_
