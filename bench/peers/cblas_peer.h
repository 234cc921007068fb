// Matmuls x[M, K] w[K, N] by a library with the interface of CBLAS, which packs no weights beforehand.
#ifndef TAILOR_BENCH_PEERS_CBLAS_PEER_H_
#define TAILOR_BENCH_PEERS_CBLAS_PEER_H_

#include <string>

namespace tailor::bench {

// y[m, n] = x[m, k] w[k, n], all dense row-major.
using Sgemm = void (*)(int m, int n, int k, const float* x, const float* w, float* y);

// ServePeer (peer.h) of matmuls by `sgemm`.
int ServeCblas(const std::string& name, int argument_count, char** arguments, Sgemm sgemm);

}  // namespace tailor::bench

#endif  // TAILOR_BENCH_PEERS_CBLAS_PEER_H_
