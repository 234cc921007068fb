// libtailor_fake_cuda.so: a CUDA driver for machines without a GPU. It exports the functions of exec/cuda/driver.h,
// runs kernels in the SIMT emulator, and is stricter than a GPU: device memory can be touched only while kernels and
// copies run, work waits until somebody waits for it, and what a real driver would let pass is kept as a complaint.
// It exports those of exec/cuda/cublas_lt.h too: as TAILOR_CUBLASLT it is a cuBLASLt for its devices.
// Threads: any; calls take turns.
#ifndef TAILOR_TESTS_EMULATOR_FAKE_DRIVER_H_
#define TAILOR_TESTS_EMULATOR_FAKE_DRIVER_H_

#include <cstdint>
#include <string>
#include <string_view>

namespace tailor::fake_cuda {

// What the driver pretends. Tests set it before they make devices; the environment variable TAILOR_FAKE_CUDA may set
// numbers too, as in "devices=0 driver=11040 memory=1000000".
struct Options {
  int devices = 1;
  int driver = 12040;
  int major = 9;
  int minor = 0;
  int pools = 1;  // whether allocations may be in a stream's order
  int multiprocessors = 4;
  int blocks = 2;                  // that a multiprocessor holds of a kernel which says nothing of it
  int shared = 227 << 10;          // bytes of shared memory that a block can have, once it is asked for
  uint64_t memory = 256ull << 20;  // bytes of each device
  // What these answer, CUresult; 0: what they should.
  int cubin = 0;
  int ptx = 0;
  int launch = 0;
  int gemm = 0;        // the same of cublasLtMatmul: cublasStatus_t
  int algorithms = 1;  // that cublasLtMatmulAlgoGetHeuristic finds
  // 1: launches, of kernels and of graphs, are dropped unseen, so that what a program costs above its driver can be
  // measured.
  int drop = 0;
};

// What exists now, and what was asked for in all.
struct Counts {
  int64_t device_bytes = 0;
  int64_t device_allocations = 0;
  int64_t host_allocations = 0;
  int64_t modules = 0;
  int64_t streams = 0;
  int64_t graphs = 0;  // with those made executable
  int64_t events = 0;
  int64_t descriptors = 0;  // of cuBLASLt, its handles among them
  int64_t pending = 0;      // pieces of work that nobody has waited for
  int64_t total_allocations = 0;
  int64_t total_launches = 0;  // of kernels, alone or in a graph
  int64_t total_graphs = 0;    // made executable
  int64_t total_graph_launches = 0;
  int64_t total_patches = 0;  // of nodes in executable graphs
  int64_t total_maps = 0;
  int64_t total_gemms = 0;  // by cublasLtMatmul
};

// Images that the driver takes for a cubin and for PTX: bitcode in such a frame.
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
// What was done wrong since the last call, a line each; "" where nothing was. Borrowed until then.
const char* tailor_fake_cuda_complaints();
// Another stream's work on the device is over: what a kernel broke is whole again.
void tailor_fake_cuda_reset();
// As if a kernel had broken the device: what is pending never runs, and every later call answers
// CUDA_ERROR_LAUNCH_FAILED.
void tailor_fake_cuda_break();
// Copies between device memory and the host's, for tests, without a stream. 0 for what is no device memory.
int tailor_fake_cuda_peek(void* to, const void* device, uint64_t bytes);
int tailor_fake_cuda_poke(void* device, const void* from, uint64_t bytes);
}

#endif  // TAILOR_TESTS_EMULATOR_FAKE_DRIVER_H_
