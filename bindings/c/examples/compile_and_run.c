/* Compiles softmax over [B, 4] once, runs it at two batch sizes, and saves it. */
#include <stdio.h>
#include <stdlib.h>

#include "tailor/compiler.h"

static void check(tailor_status* status) {
  if (status == NULL) return;
  fprintf(stderr, "%s\n", tailor_status_message(status));
  exit(1);
}

int main(int argc, char** argv) {
  tailor_graph* graph;
  tailor_dim dims[2];
  tailor_value x, y;
  tailor_executable* executable;
  int64_t batch;

  check(tailor_graph_create("example", SIZE_MAX, &graph));
  check(tailor_graph_symbol(graph, "B", SIZE_MAX, NULL, &dims[0]));
  check(tailor_graph_dim(graph, 4, &dims[1]));
  check(tailor_graph_input(graph, "x", SIZE_MAX, TAILOR_F32, dims, 2, &x));
  check(tailor_graph_softmax(graph, x, -1, &y));
  check(tailor_graph_output(graph, "y", SIZE_MAX, y));
  check(tailor_graph_compile(graph, NULL, NULL, &executable)); /* once, for every B */
  tailor_graph_release(graph);

  for (batch = 1; batch <= 2; ++batch) {
    float in[8] = {1, 2, 3, 4, 0, 0, 0, 0}, out[8];
    tailor_tensor input, output;
    tailor_tensor_init(&input);
    input.data = in;
    input.data_bytes = sizeof in;
    input.dtype = TAILOR_F32;
    input.rank = 2;
    input.dims[0] = batch;
    input.dims[1] = 4;
    output = input;
    output.data = out;
    check(tailor_executable_run(executable, &input, 1, &output, 1));
    printf("B = %d: last row %.3f %.3f %.3f %.3f\n", (int)batch, out[4 * batch - 4], out[4 * batch - 3],
           out[4 * batch - 2], out[4 * batch - 1]);
  }
  if (argc > 1) check(tailor_executable_save(executable, argv[1], SIZE_MAX));
  tailor_executable_release(executable);
  return 0;
}
