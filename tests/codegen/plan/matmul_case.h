// Matmuls for tests: a KernelPlan from a short description, random operands in memory, and a naive double reference.
#ifndef TAILOR_TESTS_CODEGEN_PLAN_MATMUL_CASE_H_
#define TAILOR_TESTS_CODEGEN_PLAN_MATMUL_CASE_H_

#include <cstdint>
#include <utility>
#include <vector>

#include "codegen/plan/kernel_plan.h"

namespace tailor {

inline constexpr int64_t kDynamic = -1;

// out[batch..., m, n] = epilogue(sum over k of lhs[batch..., m, k] * rhs[batch..., k, n])
struct MatmulCaseForm {
  DType dtype = DType::kF32;
  std::vector<int64_t> batch;       // dim sizes or kDynamic
  std::vector<bool> rhs_has_batch;  // per batch axis; absent: rhs is the same for all its values
  int64_t m = kDynamic, n = kDynamic, k = kDynamic;
  bool tf32 = false;           // GPUs may round factors in f32 to tf32
  bool pairs = true;           // panels of bf16 hold pairs, as on CPUs
  bool transpose_lhs = false;  // stored [batch..., k, m]
  bool heads = false;          // lhs and out are stored [batch[0], m, batch[1], ...]
  bool transpose_out = false;  // stored [batch..., n, m]
  bool epilogue = false;       // y * sigmoid(y) + residual[batch..., m, n], y = sum + bias[n]
};

struct MatmulCaseSize {
  std::vector<int64_t> batch;
  int64_t m, n, k;
};

// Of the right operand.
ConstantLayout LayoutOf(const MatmulCaseForm& form);
KernelPlan MakeMatmulPlan(const MatmulCaseForm& form);

// The values of the plan's dim slots.
std::vector<int64_t> DimsOf(const KernelPlan& plan, const MatmulCaseSize& size);
// How many batch indices the result has.
int64_t BatchCount(const MatmulCaseForm& form, const MatmulCaseSize& size);

class AlignedMemory {
 public:
  explicit AlignedMemory(int64_t bytes);
  ~AlignedMemory();
  AlignedMemory(AlignedMemory&& other) : data_(std::exchange(other.data_, nullptr)), bytes_(other.bytes_) {}
  AlignedMemory& operator=(AlignedMemory&& other) {
    std::swap(data_, other.data_);
    std::swap(bytes_, other.bytes_);
    return *this;
  }
  char* data() const { return data_; }
  int64_t bytes() const { return bytes_; }

 private:
  char* data_;
  int64_t bytes_;
};

// What one run reads and writes.
class MatmulMemory {
 public:
  MatmulMemory(const MatmulCaseForm& form, const MatmulCaseSize& size);

  // Moves the left operand by one element, which leaves it aligned to its elements alone.
  void ShiftLeftOperand();
  // The buffers' addresses and the dims: the argument block of the plan.
  std::vector<int64_t> Arguments(const KernelPlan& plan) const;
  // The buffer that holds `address`, from its begin to its end; zeros if there is none.
  std::pair<uint64_t, uint64_t> BufferAt(uint64_t address) const;
  // The output's bytes. Fails the test if anything beyond them was written.
  std::vector<char> Output() const;

 private:
  MatmulCaseForm form_;
  MatmulCaseSize size_;
  std::vector<AlignedMemory> buffers_;  // the output last
  int64_t left_shift_ = 0;              // bytes
};

// EXPECTs that `out` is the product of the operands that MatmulMemory has.
void ExpectMatmul(const MatmulCaseForm& form, const MatmulCaseSize& size, const std::vector<char>& out);

}  // namespace tailor

#endif  // TAILOR_TESTS_CODEGEN_PLAN_MATMUL_CASE_H_
