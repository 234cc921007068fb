// MatmulProvider: a library that computes matmuls for programs that offer them (RtApi::offer, DISC section 4.5). Plain
// function pointers of the host, called on any thread.
#ifndef TAILOR_EXEC_MATMUL_PROVIDER_H_
#define TAILOR_EXEC_MATMUL_PROVIDER_H_

#include <cstdint>

#include "exec/host_abi.h"
#include "exec/matmul_choice.h"

struct tailor_product;  // tailor/runtime.h: a GemmArgs

namespace tailor {

struct MatmulProvider {
  void* user = nullptr;
  // Whether `multiply` accepts such matmuls. Nonzero is binding: the program's own kernel is then not run.
  int32_t (*take)(void* user, const tailor_product* gemm) = nullptr;
  int32_t (*multiply)(void* user, const tailor_product* gemm) = nullptr;  // 0: success
  void (*forget)(void* user, const void* rhs) = nullptr;                  // the constant is freed; may be null
  MatmulChoice choice;                                                    // which matmuls to offer
};

// Whether the matmul is not empty and the provider's choice selects it.
bool IsSelected(const MatmulProvider& provider, const GemmArgs& gemm);
// Whether the matmul is selected and `provider` accepts it.
bool AcceptsGemm(const MatmulProvider& provider, const GemmArgs& gemm);
// Returns the provider's code.
int32_t Multiply(const MatmulProvider& provider, const GemmArgs& gemm);

}  // namespace tailor

#endif  // TAILOR_EXEC_MATMUL_PROVIDER_H_
