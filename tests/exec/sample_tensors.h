// Tensors for tests of exec/, in its own terms.
#ifndef TAILOR_TESTS_EXEC_SAMPLE_TENSORS_H_
#define TAILOR_TESTS_EXEC_SAMPLE_TENSORS_H_

#include <memory>
#include <string>
#include <vector>

#include "exec/executable.h"
#include "exec/tensor.h"
#include "tests/support/failure_text.h"

namespace tailor {

inline Tensor TensorOf(void* data, uint64_t bytes, DType dtype, const std::vector<int64_t>& dims) {
  Tensor tensor = {
      sizeof(Tensor), data,       bytes, static_cast<int32_t>(dtype), static_cast<int32_t>(dims.size()), {},
      nullptr,        kHostMemory};
  for (size_t i = 0; i < dims.size(); ++i) tensor.dims[i] = dims[i];
  return tensor;
}

inline InputList Inputs(const std::vector<Tensor>& tensors) { return {tensors.data(), tensors.size(), sizeof(Tensor)}; }
inline OutputList Outputs(std::vector<Tensor>& tensors) { return {tensors.data(), tensors.size(), sizeof(Tensor)}; }

// A made-ready program; fails the test where it cannot be. `program` outlives it.
inline std::unique_ptr<Executable> MakeReady(const Program& program, const Allocator& allocator = {}) {
  std::unique_ptr<Executable> executable;
  const auto runtime = std::make_shared<const Runtime>(Runtime::Options{allocator});
  EXPECT_EQ(Text(Executable::Create(runtime, program, ThisCpu(), "", {}, &executable)), "OK");
  return executable;
}

// Memory for one call of the sample program at N = rows: x[i, j] = i + j, mask = 1.
struct SampleBuffers {
  explicit SampleBuffers(int64_t rows) : x(4 * rows), mask(rows, 1), y(4 * rows, -99), total(rows, -99) {
    for (int64_t i = 0; i < 4 * rows; ++i) x[i] = static_cast<float>(i / 4 + i % 4);
    inputs = {TensorOf(x.data(), 16 * rows, DType::kF32, {rows, 4}),
              TensorOf(mask.data(), 4 * rows, DType::kF32, {rows})};
    outputs = {TensorOf(y.data(), 16 * rows, DType::kF32, {rows, 4}),
               TensorOf(total.data(), 4 * rows, DType::kF32, {rows})};
  }
  SampleBuffers(const SampleBuffers&) = delete;

  std::vector<float> Totals() const {
    std::vector<float> want(mask.size());
    for (size_t i = 0; i < x.size(); ++i) want[i / 4] += x[i];
    return want;
  }

  std::vector<float> x, mask, y, total;
  std::vector<Tensor> inputs, outputs;
};

}  // namespace tailor

#endif  // TAILOR_TESTS_EXEC_SAMPLE_TENSORS_H_
