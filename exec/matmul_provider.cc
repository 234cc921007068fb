#include "exec/matmul_provider.h"

namespace tailor {
namespace {

const tailor_product* ToC(const GemmArgs& gemm) { return reinterpret_cast<const tailor_product*>(&gemm); }

}  // namespace

bool IsSelected(const MatmulProvider& provider, const GemmArgs& gemm) {
  return gemm.batch >= 1 && gemm.m >= 1 && gemm.n >= 1 && gemm.k >= 1 && provider.choice.Takes(gemm);
}

bool AcceptsGemm(const MatmulProvider& provider, const GemmArgs& gemm) {
  return provider.take != nullptr && IsSelected(provider, gemm) && provider.take(provider.user, ToC(gemm)) != 0;
}

int32_t Multiply(const MatmulProvider& provider, const GemmArgs& gemm) {
  return provider.multiply(provider.user, ToC(gemm));
}

}  // namespace tailor
