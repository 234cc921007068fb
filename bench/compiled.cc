#include "bench/compiled.h"

#include <cstdio>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <string_view>

#include "tools/measure/measuring_thread.h"

namespace tailor::bench {

void Check(tailor_status* status) {
  if (status == nullptr) return;
  std::fprintf(stderr, "tailor-bench: %s\n", tailor_status_message(status));
  std::exit(1);
}

GraphHandle NewGraph(const char* name) {
  tailor_graph* graph = nullptr;
  Check(tailor_graph_create(name, SIZE_MAX, &graph));
  return GraphHandle(graph);
}

tailor_dim Fixed(tailor_graph* graph, int64_t dim_size) {
  tailor_dim dim;
  Check(tailor_graph_dim(graph, dim_size, &dim));
  return dim;
}

tailor_dim Symbol(tailor_graph* graph, const char* name, int64_t max) {
  tailor_symbol_options options;
  tailor_symbol_options_init(&options);
  options.max = max;
  tailor_dim dim;
  Check(tailor_graph_symbol(graph, name, SIZE_MAX, &options, &dim));
  return dim;
}

tailor_value Input(tailor_graph* graph, const char* name, const std::vector<tailor_dim>& dims) {
  tailor_value value;
  Check(tailor_graph_input(graph, name, SIZE_MAX, TAILOR_F32, dims.data(), dims.size(), &value));
  return value;
}

tailor_value Constant(tailor_graph* graph, const char* name, const std::vector<int64_t>& dims, float scale) {
  int64_t count = 1;
  for (const int64_t dim : dims) count *= dim;
  std::vector<float> data = SomeNumbers(count, 1);
  for (float& value : data) value *= scale;
  tailor_value value;
  Check(tailor_graph_constant(graph, name, SIZE_MAX, TAILOR_F32, dims.data(), dims.size(), data.data(),
                              data.size() * sizeof(float), nullptr, nullptr, &value));
  return value;
}

void Output(tailor_graph* graph, tailor_value value) { Check(tailor_graph_output(graph, "y", SIZE_MAX, value)); }

const char* HostTarget() {
  const char* given = std::getenv("TAILOR_BENCH_TARGET");
  return given == nullptr ? "host" : given;
}

ExecutableHandle Compile(const tailor_graph* graph, const char* target) {
  if (target != nullptr && std::string_view(target) == "host") target = HostTarget();
  tailor_compile_options options;
  tailor_compile_options_init(&options);
  if (target != nullptr) {
    options.targets = &target;
    options.target_count = 1;
  }
  const OnAllCpus all_cpus;
  tailor_executable* executable = nullptr;
  Check(tailor_graph_compile(graph, nullptr, &options, &executable));
  return ExecutableHandle(executable);
}

int CountLaunches(const tailor_executable* executable) {
  const char* text = nullptr;
  Check(tailor_executable_describe(executable, &text));
  return static_cast<int>(nlohmann::json::parse(text)["variants"][0]["launches"].size());
}

std::vector<float> SomeNumbers(int64_t count, uint64_t seed) {
  std::vector<float> numbers(count);
  uint64_t state = seed;
  for (float& number : numbers) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    number = static_cast<float>(static_cast<int64_t>(state >> 40)) * 0x1p-23f - 1;
  }
  return numbers;
}

tailor_tensor TensorOf(void* data, uint64_t bytes, int32_t dtype, const std::vector<int64_t>& dims) {
  tailor_tensor tensor;
  tailor_tensor_init(&tensor);
  tensor.data = data;
  tensor.data_bytes = bytes;
  tensor.dtype = dtype;
  tensor.rank = static_cast<int32_t>(dims.size());
  for (size_t i = 0; i < dims.size(); ++i) tensor.dims[i] = dims[i];
  return tensor;
}

SessionHandle Bound(const tailor_executable* executable, uint64_t threads, const std::vector<tailor_tensor>& inputs,
                    const std::vector<tailor_tensor>& outputs) {
  tailor_session_options options;
  tailor_session_options_init(&options);
  options.threads = threads;
  tailor_session* handle = nullptr;
  Check(tailor_session_create(executable, &options, &handle));
  SessionHandle session(handle);
  Check(tailor_session_bind(handle, inputs.data(), inputs.size(), outputs.data(), outputs.size()));
  Check(tailor_session_run_bound(handle));
  return session;
}

}  // namespace tailor::bench
