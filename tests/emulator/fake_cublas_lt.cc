// The functions of cuBLASLt on the fake driver's devices. Matmuls are sums in double, rounded once. Misuse is kept as a
// complaint: descriptors that do not match, an algorithm found for another matmul or other alignments, memory that is
// not allocated.
#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <map>
#include <string>
#include <vector>

#include "exec/cuda/cublas_lt.h"
#include "tests/emulator/fake_calls.h"
#include "tests/emulator/multiplicands.h"

namespace tailor::fake_cuda {
namespace {

using namespace cublas_lt;  // NOLINT: the library's own names

struct FakeGemm {
  int32_t transposed[2] = {0, 0};  // a and b
};

// A column-major matrix: columns of `rows` elements, `ld` elements apart.
struct FakeLayout {
  DataType type;
  int64_t rows, columns, ld;
  int64_t batch = 1, batch_stride = 0;
  friend bool operator==(const FakeLayout&, const FakeLayout&) = default;

  int64_t element() const { return type == kReal32F ? 4 : 2; }
  int64_t bytes() const { return ((batch - 1) * batch_stride + (columns - 1) * ld + rows) * element(); }
  int64_t At(int64_t b, int64_t row, int64_t column) const { return b * batch_stride + column * ld + row; }
};

struct FakePreference {
  uint64_t workspace = 0;
  std::map<int, uint32_t> others = {{kReductionSchemeMask, kAnyReduction},
                                    {kMinAlignmentABytes, 256},
                                    {kMinAlignmentBBytes, 256},
                                    {kMinAlignmentCBytes, 256},
                                    {kMinAlignmentDBytes, 256}};
};

// The problem for which an algorithm was found.
struct FakeAlgorithm {
  FakeGemm gemm;
  FakeLayout a, b, d;
  uint64_t workspace;
  std::array<uint32_t, 3> alignments;  // of a, b and d
};

// Handles and descriptors by address; others were never created, or are destroyed.
struct Objects {
  int64_t next = 0x1000;
  std::map<int64_t, int> handles;
  std::map<int64_t, FakeGemm> gemms;
  std::map<int64_t, FakeLayout> layouts;
  std::map<int64_t, FakePreference> preferences;
  std::vector<FakeAlgorithm> algorithms;
};

Objects& objects() {
  static auto* const made = new Objects;
  return *made;
}

Status Misuse(const std::string& what) {
  state().Complain("cuBLASLt: " + what);
  return kInvalidValue;
}

template <typename Opaque, typename T>
Status Make(std::map<int64_t, T>& all, Opaque* out, T value) {
  all.emplace(++objects().next, std::move(value));
  *out = reinterpret_cast<Opaque>(objects().next);
  ++state().counts.descriptors;
  return cublas_lt::kSuccess;
}

template <typename T>
Status Destroy(std::map<int64_t, T>& all, const void* object) {
  if (all.erase(reinterpret_cast<int64_t>(object)) == 0) return Misuse("an object that does not exist is destroyed");
  --state().counts.descriptors;
  return cublas_lt::kSuccess;
}

template <typename T>
T* Find(std::map<int64_t, T>& all, const void* object) {
  const auto found = all.find(reinterpret_cast<int64_t>(object));
  return found == all.end() ? nullptr : &found->second;
}

float Read(DataType type, const std::byte* from) {
  uint32_t bits = 0;
  std::memcpy(&bits, from, type == kReal32F ? 4 : 2);
  if (type == kReal32F) return std::bit_cast<float>(bits);
  return type == kReal16F ? simt::F16::At(bits, 0) : simt::Bf16::At(bits, 0);
}

void Write(DataType type, std::byte* to, float value) {
  const uint32_t bits = type == kReal32F   ? std::bit_cast<uint32_t>(value)
                        : type == kReal16F ? simt::F16::Round(value)
                                           : simt::Bf16::Round(value);
  std::memcpy(to, &bits, type == kReal32F ? 4 : 2);
}

// d = op(a) op(b); overwrites the workspace.
void Compute(const FakeAlgorithm& of, const std::byte* a, const std::byte* b, std::byte* d, std::byte* workspace) {
  const bool ta = of.gemm.transposed[0] != 0, tb = of.gemm.transposed[1] != 0;
  const int64_t depth = ta ? of.a.rows : of.a.columns, element = of.d.element();
  if (of.workspace > 0) std::memset(workspace, 0x5a, of.workspace);
  for (int64_t batch = 0; batch < of.d.batch; ++batch) {
    for (int64_t column = 0; column < of.d.columns; ++column) {
      for (int64_t row = 0; row < of.d.rows; ++row) {
        double sum = 0;
        for (int64_t k = 0; k < depth; ++k) {
          const int64_t from_a = ta ? of.a.At(batch, k, row) : of.a.At(batch, row, k);
          const int64_t from_b = tb ? of.b.At(batch, column, k) : of.b.At(batch, k, column);
          sum += double{Read(of.a.type, a + from_a * element)} * Read(of.b.type, b + from_b * element);
        }
        Write(of.d.type, d + of.d.At(batch, row, column) * element, static_cast<float>(sum));
      }
    }
  }
}

bool IsAllocated(const void* data, uint64_t bytes) {
  uintptr_t begin = 0;
  uint64_t size = 0;
  if (current == nullptr || !current->memory.Find(data, &begin, &size)) return false;
  const uint64_t offset = reinterpret_cast<uintptr_t>(data) - begin;
  return bytes <= size && offset <= size - bytes;
}

bool IsAligned(const void* data, uint64_t bytes) { return reinterpret_cast<uintptr_t>(data) % bytes == 0; }

// Whether rows and columns of op(a), op(b) and d agree.
bool Agree(const FakeGemm& gemm, const FakeLayout& a, const FakeLayout& b, const FakeLayout& d) {
  const bool ta = gemm.transposed[0] != 0, tb = gemm.transposed[1] != 0;
  return a.type == d.type && b.type == d.type && a.batch == d.batch && b.batch == d.batch &&
         (ta ? a.columns : a.rows) == d.rows && (tb ? b.rows : b.columns) == d.columns &&
         (ta ? a.rows : a.columns) == (tb ? b.columns : b.rows);
}

}  // namespace
}  // namespace tailor::fake_cuda

using namespace tailor;
using namespace tailor::cublas_lt;
using namespace tailor::fake_cuda;

extern "C" {

size_t cublasLtGetVersion() { return 130002; }

const char* cublasLtGetStatusName(Status status) {
  return status == kNotSupported ? "CUBLAS_STATUS_NOT_SUPPORTED" : "CUBLAS_STATUS_EXECUTION_FAILED";
}

Status cublasLtCreate(Handle* handle) {
  const Lock lock(state().mutex);
  if (current == nullptr) return Misuse("no device is current");
  return Make(objects().handles, handle, current->ordinal);
}

Status cublasLtDestroy(Handle handle) {
  const Lock lock(state().mutex);
  return Destroy(objects().handles, handle);
}

Status cublasLtMatmulDescCreate(MatmulDesc* gemm, int compute, DataType scale) {
  const Lock lock(state().mutex);
  if (compute != kCompute32F || scale != kReal32F) return kNotSupported;
  return Make(objects().gemms, gemm, FakeGemm{});
}

Status cublasLtMatmulDescDestroy(MatmulDesc gemm) {
  const Lock lock(state().mutex);
  return Destroy(objects().gemms, gemm);
}

Status cublasLtMatmulDescSetAttribute(MatmulDesc gemm, MatmulDescAttribute attribute, const void* value, size_t bytes) {
  const Lock lock(state().mutex);
  FakeGemm* found = Find(objects().gemms, gemm);
  if (found == nullptr || bytes != sizeof(int32_t)) return Misuse("a matmul's attribute");
  std::memcpy(&found->transposed[attribute == kTransA ? 0 : 1], value, bytes);
  return cublas_lt::kSuccess;
}

Status cublasLtMatrixLayoutCreate(MatrixLayout* layout, DataType type, uint64_t rows, uint64_t columns, int64_t ld) {
  const Lock lock(state().mutex);
  if (rows == 0 || columns == 0 || ld < static_cast<int64_t>(rows)) return Misuse("a layout whose columns overlap");
  return Make(objects().layouts, layout,
              FakeLayout{type, static_cast<int64_t>(rows), static_cast<int64_t>(columns), ld});
}

Status cublasLtMatrixLayoutDestroy(MatrixLayout layout) {
  const Lock lock(state().mutex);
  return Destroy(objects().layouts, layout);
}

Status cublasLtMatrixLayoutSetAttribute(MatrixLayout layout, MatrixLayoutAttribute attribute, const void* value,
                                        size_t bytes) {
  const Lock lock(state().mutex);
  FakeLayout* found = Find(objects().layouts, layout);
  const bool count = attribute == kBatchCount;
  if (found == nullptr || bytes != (count ? sizeof(int32_t) : sizeof(int64_t))) return Misuse("a layout's attribute");
  int64_t number = 0;
  std::memcpy(&number, value, bytes);
  (count ? found->batch : found->batch_stride) = number;
  return cublas_lt::kSuccess;
}

Status cublasLtMatmulPreferenceCreate(MatmulPreference* preference) {
  const Lock lock(state().mutex);
  return Make(objects().preferences, preference, FakePreference{});
}

Status cublasLtMatmulPreferenceDestroy(MatmulPreference preference) {
  const Lock lock(state().mutex);
  return Destroy(objects().preferences, preference);
}

Status cublasLtMatmulPreferenceSetAttribute(MatmulPreference preference, MatmulPreferenceAttribute attribute,
                                            const void* value, size_t bytes) {
  const Lock lock(state().mutex);
  FakePreference* found = Find(objects().preferences, preference);
  const bool workspace = attribute == kMaxWorkspaceBytes;
  if (found == nullptr || bytes != (workspace ? sizeof(uint64_t) : sizeof(uint32_t))) {
    return Misuse("a preference's attribute");
  }
  std::memcpy(workspace ? static_cast<void*>(&found->workspace) : &found->others[attribute], value, bytes);
  return cublas_lt::kSuccess;
}

// The algorithm is the number of its problem; it uses a workspace of half a page if it may.
Status cublasLtMatmulAlgoGetHeuristic(Handle handle, MatmulDesc gemm, MatrixLayout a, MatrixLayout b, MatrixLayout c,
                                      MatrixLayout d, MatmulPreference preference, int wanted, HeuristicResult* results,
                                      int* got) {
  const Lock lock(state().mutex);
  const FakeGemm* of = Find(objects().gemms, gemm);
  const FakeLayout* layouts[] = {Find(objects().layouts, a), Find(objects().layouts, b), Find(objects().layouts, c),
                                 Find(objects().layouts, d)};
  FakePreference* preferred = Find(objects().preferences, preference);
  const bool all = layouts[0] != nullptr && layouts[1] != nullptr && layouts[2] != nullptr && layouts[3] != nullptr;
  if (Find(objects().handles, handle) == nullptr || of == nullptr || !all || preferred == nullptr || wanted < 1) {
    return Misuse("an algorithm for objects that do not exist");
  }
  if (!Agree(*of, *layouts[0], *layouts[1], *layouts[3]) || !(*layouts[2] == *layouts[3])) {
    return Misuse("an algorithm for matrices that do not fit one another");
  }
  *got = 0;
  if (state().options.algorithms == 0) return kNotSupported;
  const FakeAlgorithm made = {*of,
                              *layouts[0],
                              *layouts[1],
                              *layouts[3],
                              std::min<uint64_t>(preferred->workspace, 2048),
                              {preferred->others[kMinAlignmentABytes], preferred->others[kMinAlignmentBBytes],
                               preferred->others[kMinAlignmentDBytes]}};
  results[0] = {};
  results[0].algorithm.data[0] = objects().algorithms.size();
  results[0].workspace_bytes = made.workspace;
  objects().algorithms.push_back(made);
  *got = 1;
  return cublas_lt::kSuccess;
}

Status cublasLtMatmul(Handle handle, MatmulDesc gemm, const void* alpha, const void* a, MatrixLayout a_layout,
                      const void* b, MatrixLayout b_layout, const void* beta, const void* c, MatrixLayout c_layout,
                      void* d, MatrixLayout d_layout, const Algorithm* algorithm, void* workspace,
                      size_t workspace_bytes, cuda::Stream stream) {
  const Lock lock(state().mutex);
  if (state().options.gemm != 0) return static_cast<Status>(state().options.gemm);
  if (CheckStream(StreamOf(stream)) != cuda::kSuccess) return kExecutionFailed;
  const int* device = Find(objects().handles, handle);
  if (device == nullptr || *device != current->ordinal) return Misuse("a handle of another device");
  if (algorithm->data[0] >= objects().algorithms.size()) return Misuse("an algorithm that no heuristic gave");
  const FakeAlgorithm& of = objects().algorithms[algorithm->data[0]];
  const FakeLayout *in_a = Find(objects().layouts, a_layout), *in_b = Find(objects().layouts, b_layout),
                   *in_d = Find(objects().layouts, d_layout);
  if (Find(objects().gemms, gemm) == nullptr || in_a == nullptr || in_b == nullptr || in_d == nullptr ||
      !(*in_a == of.a) || !(*in_b == of.b) || !(*in_d == of.d)) {
    return Misuse("an algorithm of another matmul");
  }
  float scale = 0, rest = 1;
  std::memcpy(&scale, alpha, sizeof scale);
  std::memcpy(&rest, beta, sizeof rest);
  if (scale != 1 || rest != 0 || c != d || c_layout != d_layout) return Misuse("a matmul of more than a b");
  if (!IsAllocated(a, of.a.bytes()) || !IsAllocated(b, of.b.bytes()) || !IsAllocated(d, of.d.bytes())) {
    return Misuse("matrices outside of what is allocated");
  }
  if (!IsAligned(a, of.alignments[0]) || !IsAligned(b, of.alignments[1]) || !IsAligned(d, of.alignments[2])) {
    return Misuse("addresses that are not aligned as the algorithm wants them");
  }
  if (of.workspace > workspace_bytes || !IsAligned(workspace, 256) ||
      (of.workspace > 0 && !IsAllocated(workspace, of.workspace))) {
    return Misuse("a workspace that is not the algorithm's");
  }
  ++state().counts.total_gemms;
  state().Enqueue(StreamOf(stream), [=] {
    Compute(of, static_cast<const std::byte*>(a), static_cast<const std::byte*>(b), static_cast<std::byte*>(d),
            static_cast<std::byte*>(workspace));
  });
  return cublas_lt::kSuccess;
}

}  // extern "C"
