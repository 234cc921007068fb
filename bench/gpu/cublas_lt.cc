#include "bench/gpu/cublas_lt.h"

#include <dlfcn.h>

#include <cstdlib>
#include <memory>
#include <vector>

#include "bench/gpu/cublas_lt_types.h"

namespace tailor {

using namespace cublas_lt;

// Every function of the library that is called: its name there without "cublasLt", and its parameters.
#define TAILOR_CUBLAS_LT_FUNCTIONS(F)                                                                                 \
  F(Create, (Handle * handle))                                                                                        \
  F(MatmulDescCreate, (Descriptor * product, int compute, int scale))                                                 \
  F(MatmulDescSetAttribute, (Descriptor product, int attribute, const void* value, size_t bytes))                     \
  F(MatrixLayoutCreate, (Descriptor * layout, int type, uint64_t rows, uint64_t columns, int64_t ld))                 \
  F(MatmulPreferenceCreate, (Descriptor * preference))                                                                \
  F(MatmulPreferenceSetAttribute, (Descriptor preference, int attribute, const void* value, size_t bytes))            \
  F(MatmulAlgoGetHeuristic, (Handle handle, Descriptor product, Descriptor a, Descriptor b, Descriptor c,             \
                             Descriptor d, Descriptor preference, int wanted, HeuristicResult* results, int* got))    \
  F(Matmul, (Handle handle, Descriptor product, const void* alpha, const void* a, Descriptor a_layout, const void* b, \
             Descriptor b_layout, const void* beta, const void* c, Descriptor c_layout, void* d, Descriptor d_layout, \
             const Algorithm* algorithm, void* workspace, size_t workspace_bytes, cuda::Stream stream))

struct CublasLt::Functions {
#define TAILOR_CUBLAS_LT_MEMBER(name, parameters) Status(*name) parameters = nullptr;
  TAILOR_CUBLAS_LT_FUNCTIONS(TAILOR_CUBLAS_LT_MEMBER)
#undef TAILOR_CUBLAS_LT_MEMBER
  size_t (*GetVersion)() = nullptr;

  bool Load(void* library) {
    bool all = true;
    const auto bind = [&](const char* symbol, auto* function) {
      *function = reinterpret_cast<std::remove_pointer_t<decltype(function)>>(dlsym(library, symbol));
      all = all && *function != nullptr;
    };
#define TAILOR_CUBLAS_LT_BIND(name, parameters) bind("cublasLt" #name, &name);
    TAILOR_CUBLAS_LT_FUNCTIONS(TAILOR_CUBLAS_LT_BIND)
#undef TAILOR_CUBLAS_LT_BIND
    bind("cublasLtGetVersion", &GetVersion);
    return all;
  }
};

namespace {

constexpr size_t kWorkspaceBytes = size_t{64} << 20;

void Require(Status status, const char* call) {
  if (status != 0) throw NotMeasured(std::string(call) + " of cuBLASLt answers " + std::to_string(status));
}

std::vector<std::string> Places() {
  if (const char* given = std::getenv("TAILOR_CUBLASLT")) return {given};
  std::vector<std::string> places;
  for (const char* folder : {"", "/usr/local/cuda/lib64/"}) {
    for (const char* version : {"13", "12"}) places.push_back(std::string(folder) + "libcublasLt.so." + version);
  }
  return places;
}

}  // namespace

CublasLt* CublasLt::Find(std::string* why) {
  static Functions functions;
  *why = "no cuBLASLt:";
  for (const std::string& place : Places()) {
    void* library = dlopen(place.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (library != nullptr && functions.Load(library)) {
      static CublasLt found(functions);
      return &found;
    }
    *why += " " + place;
  }
  return nullptr;
}

std::string CublasLt::name() const {
  const size_t version = functions_.GetVersion();  // 130002 is 13.0.2
  const size_t major = version / 10000, minor = version / 100 % 100;
  return "cuBLASLt " + std::to_string(major) + "." + std::to_string(minor) + "." + std::to_string(version % 100);
}

std::function<void()> CublasLt::Product(const Gpu& gpu, const ProductShape& shape, const GpuMemory& x,
                                        const GpuMemory& w, const GpuMemory& y) {
  if (handle_ == nullptr) {
    Handle handle = nullptr;
    Require(functions_.Create(&handle), "cublasLtCreate");
    handle_ = handle;
  }
  // Descriptors live as long as the process. Row-major y = x w is column-major y^T = w^T x^T: w comes first, and what
  // is stored as it is here is [N, K] there.
  Descriptor product = nullptr, a = nullptr, b = nullptr, c = nullptr, preference = nullptr;
  Require(functions_.MatmulDescCreate(&product, kCompute32F, kReal32F), "cublasLtMatmulDescCreate");
  for (const auto& [attribute, transposed] : {std::pair{kTransA, shape.w_transposed}, {kTransB, shape.x_transposed}}) {
    const int32_t op = transposed ? kTransposed : 0;
    Require(functions_.MatmulDescSetAttribute(product, attribute, &op, sizeof op), "cublasLtMatmulDescSetAttribute");
  }
  const auto layout = [&](Descriptor* out, int64_t stored_rows, int64_t stored_columns) {
    Require(functions_.MatrixLayoutCreate(out, kReal16BF, stored_columns, stored_rows, stored_columns),
            "cublasLtMatrixLayoutCreate");
  };
  layout(&a, shape.w_transposed ? shape.n : shape.k, shape.w_transposed ? shape.k : shape.n);
  layout(&b, shape.x_transposed ? shape.k : shape.m, shape.x_transposed ? shape.m : shape.k);
  layout(&c, shape.m, shape.n);
  Require(functions_.MatmulPreferenceCreate(&preference), "cublasLtMatmulPreferenceCreate");
  Require(
      functions_.MatmulPreferenceSetAttribute(preference, kMaxWorkspaceBytes, &kWorkspaceBytes, sizeof kWorkspaceBytes),
      "cublasLtMatmulPreferenceSetAttribute");
  HeuristicResult best = {};
  int found = 0;
  auto* const handle = static_cast<Handle>(handle_);
  Require(functions_.MatmulAlgoGetHeuristic(handle, product, a, b, c, c, preference, 1, &best, &found),
          "cublasLtMatmulAlgoGetHeuristic");
  if (found == 0) throw NotMeasured("cuBLASLt has no algorithm for this product");
  const auto workspace = std::make_shared<GpuMemory>(gpu, kWorkspaceBytes);
  return [=, this, &gpu, &x, &w, &y] {
    constexpr float kOne = 1, kZero = 0;
    Require(functions_.Matmul(handle, product, &kOne, w.data(), a, x.data(), b, &kZero, y.data(), c, y.data(), c,
                              &best.algorithm, workspace->data(), workspace->bytes(), gpu.stream()),
            "cublasLtMatmul");
  };
}

}  // namespace tailor
