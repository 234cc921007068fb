// OpenBLAS as a peer.
#include <cblas.h>

#include <cstdlib>
#include <string>

#include "bench/peers/cblas_peer.h"

namespace {

void Sgemm(int m, int n, int k, const float* x, const float* w, float* y) {
  scipy_cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, m, n, k, 1, x, k, w, n, 0, y, n);
}

}  // namespace

int main(int count, char** arguments) {
  scipy_openblas_set_num_threads(count > 1 ? std::atoi(arguments[1]) : 1);
  const std::string config = scipy_openblas_get_config();  // "OpenBLAS <version> <options>"
  const std::string name = config.substr(0, config.find(' ', config.find(' ') + 1));
  return tailor::bench::ServeCblas(name, count, arguments, Sgemm);
}
