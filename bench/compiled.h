// Building, compiling and binding a graph in a few lines, for benchmarks, through the C API. An error of the C API ends
// the process with its message.
#ifndef TAILOR_BENCH_COMPILED_H_
#define TAILOR_BENCH_COMPILED_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "bench/encoder.h"
#include "tailor/compiler.h"
#include "tools/handles.h"

namespace tailor::bench {

void Check(tailor_status* status);

GraphHandle NewGraph(const char* name);
tailor_dim Fixed(tailor_graph* graph, int64_t dim_size);
tailor_dim Symbol(tailor_graph* graph, const char* name, int64_t max);
tailor_value Input(tailor_graph* graph, const char* name, const std::vector<tailor_dim>& dims);               // f32
tailor_value Constant(tailor_graph* graph, const char* name, const std::vector<int64_t>& dims, float scale);  // f32
void Output(tailor_graph* graph, tailor_value value);

// The CPU level that "host" stands for: TAILOR_BENCH_TARGET where that is set (./dev bench --cpu), else "host".
const char* HostTarget();

// Compiles for the CPU level `target` ("host": HostTarget(), nullptr: all levels), with threads on all CPUs.
ExecutableHandle Compile(const tailor_graph* graph, const char* target);

// Launches of the executable's first variant, from its description.
int CountLaunches(const tailor_executable* executable);

// f32 numbers in [-1, 1] that depend only on `seed`.
std::vector<float> SomeNumbers(int64_t count, uint64_t seed);

tailor_tensor TensorOf(void* data, uint64_t bytes, int32_t dtype, const std::vector<int64_t>& dims);
inline tailor_tensor TensorOf(std::vector<float>& data, const std::vector<int64_t>& dims) {
  return TensorOf(data.data(), data.size() * sizeof(float), TAILOR_F32, dims);
}

// A session with `threads` threads and these buffers bound, run once.
SessionHandle Bound(const tailor_executable* executable, uint64_t threads, const std::vector<tailor_tensor>& inputs,
                    const std::vector<tailor_tensor>& outputs);

}  // namespace tailor::bench

#endif  // TAILOR_BENCH_COMPILED_H_
