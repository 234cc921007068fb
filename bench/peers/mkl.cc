// MKL as a peer: libmkl_rt of PyPI's package mkl, which comes without headers.
#include <cstdlib>
#include <string>

#include "bench/peers/cblas_peer.h"

extern "C" {
void cblas_sgemm(int layout, int x_transposed, int w_transposed, int m, int n, int k, float alpha, const float* x,
                 int x_stride, const float* w, int w_stride, float beta, float* y, int y_stride);
int MKL_Set_Threading_Layer(int layer);
void MKL_Set_Num_Threads(int threads);
void MKL_Get_Version_String(char* text, int size);
}

namespace {

constexpr int kRowMajor = 101, kNotTransposed = 111;  // of CBLAS
constexpr int kSequential = 1, kGnu = 3;              // MKL_THREADING_SEQUENTIAL, MKL_THREADING_GNU

void Sgemm(int m, int n, int k, const float* x, const float* w, float* y) {
  cblas_sgemm(kRowMajor, kNotTransposed, kNotTransposed, m, n, k, 1, x, k, w, n, 0, y, n);
}

// "MKL 2026.2" of "Intel(R) oneAPI Math Kernel Library Version 2026.2-Product Build ...".
std::string Name() {
  char text[200] = {};
  MKL_Get_Version_String(text, sizeof text - 1);
  const std::string version = std::string(text).substr(std::string(text).find("Version ") + 8);
  return "MKL " + version.substr(0, version.find('-'));
}

}  // namespace

int main(int count, char** arguments) {
  const int threads = count > 1 ? std::atoi(arguments[1]) : 1;
  MKL_Set_Threading_Layer(threads == 1 ? kSequential : kGnu);
  MKL_Set_Num_Threads(threads);
  return tailor::bench::ServeCblas(Name(), count, arguments, Sgemm);
}
