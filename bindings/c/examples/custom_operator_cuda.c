/* A custom operator on a GPU: repeats a vector, by two copies in the stream of the run. Needs the driver alone. */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

#include "tailor/compiler.h"

typedef int (*copy_function)(uint64_t to, uint64_t from, size_t bytes, void* stream); /* cuMemcpyDtoDAsync */

static void check(tailor_status* status) {
  if (status == NULL) return;
  fprintf(stderr, "%s\n", tailor_status_message(status));
  exit(1);
}

/* operands: f32[N]; results: f32[2*N]. Enqueues work, and does not wait for it. */
static int32_t repeat(void* user, const tailor_custom_call* call) {
  const copy_function copy = *(const copy_function*)user;
  const uint64_t from = (uint64_t)call->operands[0].data, to = (uint64_t)call->results[0].data;
  const size_t bytes = (size_t)call->operands[0].dims[0] * sizeof(float);
  int code = bytes > 0 ? copy(to, from, bytes, call->stream) : 0;
  if (code == 0 && bytes > 0) code = copy(to + bytes, from, bytes, call->stream);
  if (code != 0) snprintf(call->message, call->message_capacity, "cuMemcpyDtoDAsync gave %d", code);
  return code == 0 ? 0 : TAILOR_INTERNAL;
}

int main(int argc, char** argv) {
  const char* target = argc > 1 ? argv[1] : "cuda";
  const char* named = getenv("TAILOR_CUDA_DRIVER");
  void* driver = dlopen(named != NULL ? named : "libcuda.so.1", RTLD_NOW);
  copy_function copy;
  float numbers[] = {1, 2, 3};
  tailor_runtime* runtime;
  tailor_custom_operator op;
  tailor_custom_result twice_type;
  tailor_compile_options options;
  tailor_session_options session_options;
  tailor_graph* graph;
  tailor_dim n, two, length;
  tailor_value x, twice, y;
  tailor_executable* executable;
  tailor_session* session;
  tailor_tensor input, output;
  int64_t i;

  if (driver == NULL) return fprintf(stderr, "%s\n", dlerror()), 1;
  *(void**)&copy = dlsym(driver, "cuMemcpyDtoDAsync_v2");
  tailor_custom_operator_init(&op);
  op.name = "repeat";
  op.name_size = SIZE_MAX;
  op.device = TAILOR_DEVICE_CUDA;
  op.function = repeat;
  op.user = &copy;
  check(tailor_runtime_create(NULL, &runtime));
  check(tailor_runtime_register(runtime, &op));

  check(tailor_graph_create("example", SIZE_MAX, &graph));
  check(tailor_graph_symbol(graph, "N", SIZE_MAX, NULL, &n));
  check(tailor_graph_dim(graph, 2, &two));
  check(tailor_dim_mul(graph, two, n, &length));
  check(tailor_graph_input(graph, "x", SIZE_MAX, TAILOR_F32, &n, 1, &x));
  twice_type.dims = &length;
  twice_type.rank = 1;
  twice_type.dtype = TAILOR_F32;
  twice_type.counted_dim = -1;
  check(tailor_graph_custom(graph, "repeat", SIZE_MAX, &x, 1, &twice_type, 1, NULL, &twice));
  check(tailor_graph_neg(graph, twice, &y));
  check(tailor_graph_output(graph, "y", SIZE_MAX, y));
  tailor_compile_options_init(&options);
  options.targets = &target;
  options.target_count = 1;
  options.device = TAILOR_DEVICE_CUDA;
  check(tailor_graph_compile(graph, runtime, &options, &executable));
  tailor_graph_release(graph);

  tailor_session_options_init(&session_options);
  session_options.host_outputs = 1;
  check(tailor_session_create(executable, &session_options, &session));
  tailor_tensor_init(&input);
  tailor_tensor_init(&output);
  input.data = numbers;
  input.data_bytes = sizeof numbers;
  input.dtype = TAILOR_F32;
  input.rank = 1;
  input.dims[0] = 3;
  check(tailor_session_run(session, &input, 1, &output, 1));
  for (i = 0; i < output.dims[0]; ++i) printf("%g ", ((const float*)output.data)[i]);
  printf("\n");
  tailor_session_release(session);
  tailor_executable_release(executable);
  tailor_runtime_release(runtime);
  return 0;
}
