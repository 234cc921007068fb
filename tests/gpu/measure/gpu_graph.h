// A graph compiled for the GPU that is measured, and its runs on device memory: everything through the C API.
#ifndef TAILOR_TESTS_GPU_MEASURE_GPU_GRAPH_H_
#define TAILOR_TESTS_GPU_MEASURE_GPU_GRAPH_H_

#include <vector>

#include "bench/compiled.h"
#include "tests/gpu/measure/gpu.h"

namespace tailor::bench {

// Throws NotMeasured with the status's message.
void Must(tailor_status* status);

// For the GPU's own target, on it. By an assembler of this machine where it has one, else by the driver's.
ExecutableHandle CompileFor(const Gpu& gpu, const tailor_graph* graph);

// A session in the GPU's stream whose runs return once their work is asked for, if `graph` as a CUDA graph.
SessionHandle SessionOn(const Gpu& gpu, const tailor_executable* executable, bool graph = false);

tailor_tensor OnGpu(const GpuMemory& memory, int32_t dtype, const std::vector<int64_t>& dims);

// A session with these tensors bound, run once.
SessionHandle BoundOn(const Gpu& gpu, const tailor_executable* executable, const std::vector<tailor_tensor>& inputs,
                      const std::vector<tailor_tensor>& outputs);

// Asks for a run of what is bound. Throws NotMeasured where that fails.
void Run(tailor_session* bound);

}  // namespace tailor::bench

#endif  // TAILOR_TESTS_GPU_MEASURE_GPU_GRAPH_H_
