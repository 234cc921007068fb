// A graph compiled for the device that tests/emulator/fake_driver.h plays, and run on it through the C headers. Its
// tensors are floats here, whatever they are there.
#ifndef TAILOR_TESTS_API_EMULATED_PROGRAM_H_
#define TAILOR_TESTS_API_EMULATED_PROGRAM_H_

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "graph/element.h"
#include "tailor/compiler.h"
#include "tests/api/status_text.h"
#include "tests/emulator/fake_driver.h"

namespace tailor {

// Numbers as they lie in memory.
inline std::vector<std::byte> InMemory(int32_t dtype, const std::vector<float>& numbers) {
  const auto type = static_cast<DType>(dtype);
  std::vector<std::byte> bytes(numbers.size() * SizeOf(type));
  for (size_t i = 0; i < numbers.size(); ++i) ElementFromDouble(type, numbers[i], &bytes[i * SizeOf(type)]);
  return bytes;
}

inline std::vector<float> FromMemory(int32_t dtype, const std::byte* data, uint64_t bytes) {
  const auto type = static_cast<DType>(dtype);
  std::vector<float> numbers(bytes / SizeOf(type));
  for (size_t i = 0; i < numbers.size(); ++i) {
    numbers[i] = static_cast<float>(ElementToDouble(type, data + i * SizeOf(type)));
  }
  return numbers;
}

class EmulatedProgram {
 public:
  struct Input {
    std::vector<int64_t> dims;
    std::vector<float> numbers;
  };
  struct Options {
    tailor_runtime_options runtime;
    tailor_compile_options compile;
    Options() {
      tailor_runtime_options_init(&runtime);
      tailor_compile_options_init(&compile);
    }
  };

  // Why it could not be made is in status().
  explicit EmulatedProgram(
      const std::string& text, Options options = {},
      const std::function<void(tailor_runtime*)>& prepare = [](tailor_runtime*) {}) {
    options.runtime.log = [](void* user, int32_t, const char* message) {
      static_cast<EmulatedProgram*>(user)->log_ += message + std::string("\n");
    };
    options.runtime.user = this;
    status_ = Text(tailor_runtime_create(&options.runtime, &runtime_));
    if (status_ != "OK") return;
    prepare(runtime_);
    tailor_graph* graph = nullptr;
    status_ = Text(tailor_graph_parse(text.data(), text.size(), &graph));
    if (status_ != "OK") return;
    const char* target = "simt";
    options.compile.targets = &target;
    options.compile.target_count = 1;
    options.compile.device = TAILOR_DEVICE_CUDA;
    status_ = Text(tailor_graph_compile(graph, runtime_, &options.compile, &executable_));
    tailor_graph_release(graph);
    if (status_ == "OK") status_ = Open({});
  }
  EmulatedProgram(const EmulatedProgram&) = delete;
  ~EmulatedProgram() {
    tailor_session_release(session_);
    tailor_executable_release(executable_);
    tailor_runtime_release(runtime_);
  }

  const std::string& status() const { return status_; }
  const std::string& log() const { return log_; }

  std::string SetSeed(uint64_t seed) { return Text(tailor_session_set_seed(session_, seed)); }

  // A new session; the last one stays on failure.
  std::string Open(tailor_session_options options) {
    options.struct_size = sizeof(options);
    options.host_outputs = 1;
    tailor_session* made = nullptr;
    const std::string status = Text(tailor_session_create(executable_, &options, &made));
    if (made == nullptr) return status;
    tailor_session_release(session_);
    session_ = made;
    return status;
  }

  // The status of a run; on success `results` has all outputs, one behind the other. Where `there` is memory of the
  // device's, inputs lie in it one element behind each multiple of 256 bytes.
  std::string Run(const std::vector<Input>& given, std::vector<float>* results, std::byte* there = nullptr) {
    std::vector<std::vector<std::byte>> bytes;
    std::vector<tailor_tensor> inputs, outputs(tailor_executable_output_count(executable_));
    for (size_t i = 0; i < given.size(); ++i) {
      tailor_tensor_info info;
      tailor_tensor_info_init(&info);
      EXPECT_EQ(Text(tailor_executable_input(executable_, i, &info)), "OK");
      bytes.push_back(InMemory(info.dtype, given[i].numbers));
      tailor_tensor& tensor = inputs.emplace_back();
      tailor_tensor_init(&tensor);
      tensor.dtype = info.dtype;
      tensor.data = bytes.back().data();
      tensor.data_bytes = bytes.back().size();
      tensor.rank = static_cast<int32_t>(given[i].dims.size());
      std::copy(given[i].dims.begin(), given[i].dims.end(), tensor.dims);
      if (there == nullptr) continue;
      tensor.data = there + SizeOf(static_cast<DType>(info.dtype));
      tensor.device = 1;
      EXPECT_EQ(tailor_fake_cuda_poke(tensor.data, bytes.back().data(), bytes.back().size()), 1);
      there += (bytes.back().size() / 256 + 1) * 256;
    }
    for (tailor_tensor& output : outputs) tailor_tensor_init(&output);
    const std::string status =
        Text(tailor_session_run(session_, inputs.data(), inputs.size(), outputs.data(), outputs.size()));
    if (status != "OK") return status;
    results->clear();
    for (const tailor_tensor& output : outputs) {
      const auto* data = static_cast<const std::byte*>(output.data);
      const std::vector<float> numbers = FromMemory(output.dtype, data, output.data_bytes);
      results->insert(results->end(), numbers.begin(), numbers.end());
    }
    return status;
  }

 private:
  std::string status_, log_;
  tailor_runtime* runtime_ = nullptr;
  tailor_executable* executable_ = nullptr;
  tailor_session* session_ = nullptr;
};

// Tests with the driver and the cuBLASLt that play a GPU's; each ends without complaint.
class EmulatedTest : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    setenv("TAILOR_CUDA_DRIVER", TAILOR_FAKE_CUDA_LIBRARY, 1);
    setenv("TAILOR_CUBLASLT", TAILOR_FAKE_CUDA_LIBRARY, 1);
  }
  EmulatedTest() : pretended_(*tailor_fake_cuda_options()) { tailor_fake_cuda_complaints(); }
  ~EmulatedTest() override {
    *tailor_fake_cuda_options() = pretended_;
    EXPECT_STREQ(tailor_fake_cuda_complaints(), "");
    EXPECT_EQ(tailor_fake_cuda_counts().descriptors, 0);
    EXPECT_EQ(tailor_fake_cuda_counts().device_allocations, 0);
  }

 private:
  const fake_cuda::Options pretended_;
};

}  // namespace tailor

#endif  // TAILOR_TESTS_API_EMULATED_PROGRAM_H_
