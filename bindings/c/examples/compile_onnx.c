/* Compiles an ONNX model, runs it on f32 ones of dims [2, 4], and saves it: compile_onnx model.onnx model.tlr */
#include <stdio.h>
#include <stdlib.h>

#include "tailor/onnx.h"

static void check(tailor_status* status) {
  if (status == NULL) return;
  fprintf(stderr, "%s\n", tailor_status_message(status));
  exit(1);
}

int main(int argc, char** argv) {
  float ones[8] = {1, 1, 1, 1, 1, 1, 1, 1};
  tailor_graph* graph;
  tailor_executable* executable;
  tailor_session* session;
  tailor_tensor x, y;
  size_t i;

  if (argc != 3) return 2;
  check(tailor_onnx_load(argv[1], SIZE_MAX, NULL, &graph));
  check(tailor_graph_compile(graph, NULL, NULL, &executable)); /* once, for all shapes */
  check(tailor_session_create(executable, NULL, &session));
  tailor_tensor_init(&x);
  x.data = ones;
  x.data_bytes = sizeof ones;
  x.dtype = TAILOR_F32;
  x.rank = 2;
  x.dims[0] = 2;
  x.dims[1] = 4;
  tailor_tensor_init(&y); /* in the session's memory */
  check(tailor_session_run(session, &x, 1, &y, 1));
  check(tailor_executable_save(executable, argv[2], SIZE_MAX));
  for (i = 0; i < y.data_bytes / sizeof(float); ++i) printf("%g ", ((const float*)y.data)[i]);
  tailor_session_release(session);
  tailor_executable_release(executable);
  tailor_graph_release(graph);
  return 0;
}
