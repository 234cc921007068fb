/* A custom operator: keeps the positive numbers of a vector. How many they are is known only when it has run. */
#include <stdio.h>
#include <stdlib.h>

#include "tailor/compiler.h"

static void check(tailor_status* status) {
  if (status == NULL) return;
  fprintf(stderr, "%s\n", tailor_status_message(status));
  exit(1);
}

/* results: f32[N], of which the first `count` elements are used; then the count, an i64[]. */
static int32_t keep_positive(void* user, const tailor_custom_call* call) {
  const float* x = call->operands[0].data;
  float* kept = call->results[0].data;
  int64_t* count = call->results[1].data;
  int64_t i;
  (void)user;
  *count = 0;
  for (i = 0; i < call->operands[0].dims[0]; ++i) {
    if (x[i] > 0) kept[(*count)++] = x[i];
  }
  return 0; /* else the run fails; call->message may say why */
}

int main(void) {
  float numbers[] = {1, -2, 3, -4, 5};
  tailor_runtime* runtime;
  tailor_custom_operator op;
  tailor_custom_result kept_type;
  tailor_graph* graph;
  tailor_dim n;
  tailor_value x, kept, y;
  tailor_executable* executable;
  tailor_session* session;
  int64_t count;

  tailor_custom_operator_init(&op);
  op.name = "keep_positive";
  op.name_size = SIZE_MAX;
  op.device = TAILOR_DEVICE_CPU;
  op.function = keep_positive;
  check(tailor_runtime_create(NULL, &runtime));
  check(tailor_runtime_register(runtime, &op));

  check(tailor_graph_create("example", SIZE_MAX, &graph));
  check(tailor_graph_symbol(graph, "N", SIZE_MAX, NULL, &n));
  check(tailor_graph_input(graph, "x", SIZE_MAX, TAILOR_F32, &n, 1, &x));
  kept_type.dims = &n;
  kept_type.rank = 1;
  kept_type.dtype = TAILOR_F32;
  kept_type.counted_dim = 0; /* N is a bound */
  check(tailor_graph_custom(graph, "keep_positive", SIZE_MAX, &x, 1, &kept_type, 1, NULL, &kept));
  check(tailor_graph_add(graph, kept, kept, &y));
  check(tailor_graph_output(graph, "y", SIZE_MAX, y));
  check(tailor_graph_compile(graph, runtime, NULL, &executable));
  tailor_graph_release(graph);
  check(tailor_session_create(executable, NULL, &session));

  for (count = 2; count <= 5; count += 3) {
    tailor_tensor input, output;
    int64_t i;
    tailor_tensor_init(&input);
    tailor_tensor_init(&output); /* the session's memory */
    input.data = numbers;
    input.data_bytes = sizeof numbers;
    input.dtype = TAILOR_F32;
    input.rank = 1;
    input.dims[0] = count;
    check(tailor_session_run(session, &input, 1, &output, 1));
    printf("N = %d:", (int)count);
    for (i = 0; i < output.dims[0]; ++i) printf(" %g", ((const float*)output.data)[i]);
    printf("\n");
  }
  tailor_session_release(session);
  tailor_executable_release(executable);
  tailor_runtime_release(runtime);
  return 0;
}
