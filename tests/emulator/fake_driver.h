// libtailor_fake_cuda.so: a CUDA driver for machines without a GPU. It exports the functions of exec/cuda/driver.h and
// runs kernels in the SIMT emulator. It is stricter than a GPU: device memory is accessible only while kernels and
// copies run, work is delayed until somebody waits for it, and misuse that a real driver would tolerate is kept as a
// complaint. It also exports the functions of exec/cuda/cublas_lt.h: with TAILOR_CUBLASLT it serves as cuBLASLt.
// Threads: any; calls are serialised.
#ifndef TAILOR_TESTS_EMULATOR_FAKE_DRIVER_H_
#define TAILOR_TESTS_EMULATOR_FAKE_DRIVER_H_

#include <cstdint>
#include <string>
#include <string_view>

namespace tailor::fake_cuda {

// Properties of the fake driver. Tests set them before they create devices. The environment variable TAILOR_FAKE_CUDA
// can set numbers too: "devices=0 driver=11040 memory=1000000".
struct Options {
  int devices = 1;
  int driver = 12040;
  int major = 9;
  int minor = 0;
  int pools = 1;  // whether allocations can be stream-ordered
  int multiprocessors = 4;
  int blocks = 2;                  // per multiprocessor, of a kernel without launch bounds
  int shared = 227 << 10;          // bytes of shared memory per block, after opting in
  uint64_t memory = 256ull << 20;  // bytes per device
  // Forced results of these calls, CUresult; 0: the regular result.
  int cubin = 0;
  int ptx = 0;
  int launch = 0;
  int gemm = 0;        // the same for cublasLtMatmul: cublasStatus_t
  int algorithms = 1;  // results of cublasLtMatmulAlgoGetHeuristic
  // 1: launches of kernels and graphs are dropped unchecked, to measure a program's overhead above its driver.
  int drop = 0;
};

// Objects that exist now, and totals of requests.
struct Counts {
  int64_t device_bytes = 0;
  int64_t device_allocations = 0;
  int64_t host_allocations = 0;
  int64_t modules = 0;
  int64_t streams = 0;
  int64_t graphs = 0;  // including executable graphs
  int64_t events = 0;
  int64_t descriptors = 0;  // of cuBLASLt, including its handles
  int64_t pending = 0;      // work items that nobody has waited for
  int64_t total_allocations = 0;
  int64_t total_launches = 0;  // of kernels, alone or in a graph
  int64_t total_graphs = 0;    // instantiated
  int64_t total_graph_launches = 0;
  int64_t total_patches = 0;  // of nodes in executable graphs
  int64_t total_maps = 0;
  int64_t total_gemms = 0;  // by cublasLtMatmul
};

// Images that the driver accepts as a cubin and as PTX: bitcode in a wrapper.
inline std::string AsCubin(std::string_view bitcode) {
  const uint64_t size = bitcode.size();
  return std::string("\177ELF\0\0\0\0", 8) + std::string(reinterpret_cast<const char*>(&size), 8) +
         std::string(bitcode);
}

inline std::string AsPtx(std::string_view bitcode) {
  std::string text = ".version 7.0\n// ";
  for (const unsigned char c : bitcode) text += {"0123456789abcdef"[c / 16], "0123456789abcdef"[c % 16]};
  return text + '\0';
}

}  // namespace tailor::fake_cuda

extern "C" {
tailor::fake_cuda::Options* tailor_fake_cuda_options();
tailor::fake_cuda::Counts tailor_fake_cuda_counts();
// Complaints since the last call, one per line; "" if none. Valid until the next call.
const char* tailor_fake_cuda_complaints();
// Ends a simulated device failure: what a kernel broke works again.
void tailor_fake_cuda_reset();
// Simulates a kernel that broke the device: pending work never runs, and every later call returns
// CUDA_ERROR_LAUNCH_FAILED.
void tailor_fake_cuda_break();
// Copies between device and host memory for tests, without a stream. 0 if it is not device memory.
int tailor_fake_cuda_peek(void* to, const void* device, uint64_t bytes);
int tailor_fake_cuda_poke(void* device, const void* from, uint64_t bytes);
}

#endif  // TAILOR_TESTS_EMULATOR_FAKE_DRIVER_H_
