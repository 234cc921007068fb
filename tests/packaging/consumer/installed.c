/* The library is as old as its headers, and compiles in the worker that is installed beside it. */
#include <stdio.h>

#include "tailor/compiler.h"

static int failed(tailor_status* status) {
  if (status == NULL) return 0;
  fprintf(stderr, "%s\n", tailor_status_message(status));
  tailor_status_release(status);
  return 1;
}

int main(void) {
  tailor_graph* graph;
  tailor_executable* executable;
  tailor_compile_options options;
  tailor_dim dim;
  tailor_value x, y;

  tailor_compile_options_init(&options);
  options.isolated = 1;
  if (failed(tailor_graph_create("installed", SIZE_MAX, &graph)) ||
      failed(tailor_graph_symbol(graph, "N", SIZE_MAX, NULL, &dim)) ||
      failed(tailor_graph_input(graph, "x", SIZE_MAX, TAILOR_F32, &dim, 1, &x)) ||
      failed(tailor_graph_exp(graph, x, &y)) || failed(tailor_graph_output(graph, "y", SIZE_MAX, y)) ||
      failed(tailor_graph_compile(graph, NULL, &options, &executable))) {
    return 1;
  }
  printf("%s %d %d\n", tailor_version(), (int)tailor_version_number(), TAILOR_VERSION_NUMBER);
  tailor_executable_release(executable);
  tailor_graph_release(graph);
  return 0;
}
