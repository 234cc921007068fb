// A library that computes matrix matmuls for programs which offer them (RtApi::offer, DISC section 4.5). Plain
// function pointers of the host's; they are called on any thread.
#ifndef TAILOR_EXEC_PRODUCT_PROVIDER_H_
#define TAILOR_EXEC_PRODUCT_PROVIDER_H_

#include <cstdint>

#include "exec/host_abi.h"
#include "exec/product_choice.h"

struct tailor_product;  // tailor/runtime.h: a GemmArgs

namespace tailor {

struct ProductProvider {
  void* user = nullptr;
  // Whether it computes such matmuls; not 0 promises that.
  int32_t (*take)(void* user, const tailor_product* gemm) = nullptr;
  int32_t (*multiply)(void* user, const tailor_product* gemm) = nullptr;  // 0: done
  void (*forget)(void* user, const void* rhs) = nullptr;                  // that constant is gone; may be null
  ProductChoice choice;                                                   // which matmuls it is asked for
};

// Whether `matmul` has elements and is one of the provider's choice.
bool IsAskedFor(const ProductProvider& provider, const GemmArgs& gemm);
// Whether `provider` takes `matmul`, which it is then asked for.
bool TakesGemm(const ProductProvider& provider, const GemmArgs& gemm);
// Its return code.
int32_t Multiply(const ProductProvider& provider, const GemmArgs& gemm);

}  // namespace tailor

#endif  // TAILOR_EXEC_PRODUCT_PROVIDER_H_
