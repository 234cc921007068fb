#include "tests/gpu/measure/gpu_graph.h"

#include <string>

namespace tailor::bench {

void Must(tailor_status* status) {
  if (status == nullptr) return;
  const std::string message = tailor_status_message(status);
  tailor_status_release(status);
  throw NotMeasured(message);
}

ExecutableHandle CompileFor(const Gpu& gpu, const tailor_graph* graph) {
  const char* target = gpu.target().c_str();
  tailor_compile_options options;
  tailor_compile_options_init(&options);
  options.targets = &target;
  options.target_count = 1;
  options.device = TAILOR_DEVICE_CUDA;
  options.device_ordinal = gpu.device().info().ordinal;
  tailor_executable* executable = nullptr;
  Must(tailor_graph_compile(graph, nullptr, &options, &executable));
  return ExecutableHandle(executable);
}

SessionHandle SessionOn(const Gpu& gpu, const tailor_executable* executable, bool graph) {
  tailor_session_options options;
  tailor_session_options_init(&options);
  options.stream = gpu.stream();
  options.asynchronous = 1;
  options.cuda_graph = graph ? 1 : 0;
  tailor_session* session = nullptr;
  Must(tailor_session_create(executable, &options, &session));
  return SessionHandle(session);
}

tailor_tensor OnGpu(const GpuMemory& memory, int32_t dtype, const std::vector<int64_t>& dims) {
  tailor_tensor tensor = TensorOf(memory.data(), memory.bytes(), dtype, dims);
  tensor.device = TAILOR_DEVICE_CUDA;
  return tensor;
}

SessionHandle BoundOn(const Gpu& gpu, const tailor_executable* executable, const std::vector<tailor_tensor>& inputs,
                      const std::vector<tailor_tensor>& outputs) {
  SessionHandle session = SessionOn(gpu, executable);
  Must(tailor_session_bind(session.get(), inputs.data(), inputs.size(), outputs.data(), outputs.size()));
  Run(session.get());
  Must(tailor_session_wait(session.get()));
  return session;
}

void Run(tailor_session* bound) { Must(tailor_session_run_bound(bound)); }

}  // namespace tailor::bench
