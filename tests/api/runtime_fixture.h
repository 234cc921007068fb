// What tests of the runtime library share: the sample program loaded, tensors that own their data, and statuses
// as text.
#ifndef TAILOR_TESTS_API_RUNTIME_FIXTURE_H_
#define TAILOR_TESTS_API_RUNTIME_FIXTURE_H_

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "tailor/runtime.h"
#include "tests/api/status_text.h"
#include "tests/support/sample_program.h"
#include "tools/handles.h"

namespace tailor {

inline ExecutableHandle LoadBytes(std::span<const std::byte> bytes, tailor_runtime* runtime = nullptr) {
  tailor_executable* executable = nullptr;
  EXPECT_EQ(
      Text(tailor_executable_load_memory(runtime, bytes.data(), bytes.size(), nullptr, nullptr, nullptr, &executable)),
      "OK");
  return ExecutableHandle(executable);
}

inline ExecutableHandle LoadSample(tailor_runtime* runtime = nullptr) {
  return LoadBytes(SampleArtifact().span(), runtime);
}

inline SessionHandle MakeSession(const tailor_executable* executable, const tailor_session_options* options = nullptr) {
  tailor_session* session = nullptr;
  EXPECT_EQ(Text(tailor_session_create(executable, options, &session)), "OK");
  return SessionHandle(session);
}

inline tailor_tensor TensorOf(void* data, uint64_t bytes, int32_t dtype, const std::vector<int64_t>& dims) {
  tailor_tensor tensor;
  tailor_tensor_init(&tensor);
  tensor.data = data;
  tensor.data_bytes = bytes;
  tensor.dtype = dtype;
  tensor.rank = static_cast<int32_t>(dims.size());
  for (size_t i = 0; i < dims.size(); ++i) tensor.dims[i] = dims[i];
  return tensor;
}

// One call of the sample program at N = rows, with inputs filled by a formula and what must come out.
struct SampleCall {
  explicit SampleCall(int64_t rows, float seed = 1)
      : x(4 * rows), mask(rows), y(4 * rows, -99), total(rows, -99), want_y(4 * rows), want_total(rows) {
    for (int64_t i = 0; i < rows; ++i) {
      mask[i] = static_cast<float>(i % 3);
      for (int64_t j = 0; j < 4; ++j) {
        x[4 * i + j] = seed + static_cast<float>(i % 17) - static_cast<float>(j);
        want_y[4 * i + j] = -x[4 * i + j] * kSampleScale[j];
        want_total[i] += x[4 * i + j] * mask[i];
      }
    }
    inputs = {TensorOf(x.data(), x.size() * 4, TAILOR_F32, {rows, 4}),
              TensorOf(mask.data(), mask.size() * 4, TAILOR_F32, {rows})};
    outputs = {TensorOf(y.data(), y.size() * 4, TAILOR_F32, {rows, 4}),
               TensorOf(total.data(), total.size() * 4, TAILOR_F32, {rows})};
  }
  SampleCall(const SampleCall&) = delete;

  std::string Run(tailor_session* session) {
    return Text(tailor_session_run(session, inputs.data(), inputs.size(), outputs.data(), outputs.size()));
  }
  std::string Bind(tailor_session* session) {
    return Text(tailor_session_bind(session, inputs.data(), inputs.size(), outputs.data(), outputs.size()));
  }
  void ExpectResults() const {
    EXPECT_EQ(y, want_y);
    EXPECT_EQ(total, want_total);
  }

  std::vector<float> x, mask, y, total, want_y, want_total;
  std::vector<tailor_tensor> inputs, outputs;
};

}  // namespace tailor

#endif  // TAILOR_TESTS_API_RUNTIME_FIXTURE_H_
