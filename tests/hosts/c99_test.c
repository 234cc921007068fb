/* The whole way in C99: builds a graph, compiles it, runs it, saves it, loads it and runs it again.
 *
 *   c99_test ARTIFACT     writes the artifact there, for the tests of other hosts
 *
 * graph(x: f32[B, 4]) -> "y" = x * [1, 2, 3, 4] + 0.5, "total" = the sum of y over its last dim. */
#include <stdio.h>
#include <string.h>

#include "tailor/compiler.h"

#define ROWS 3
#define COLUMNS 4

static int failures = 0;

static void expect(int condition, const char* what) {
  if (!condition) {
    fprintf(stderr, "failed: %s\n", what);
    ++failures;
  }
}

/* True for success; prints and frees a failed status. */
static int ok(tailor_status* status, const char* what) {
  if (status == NULL) return 1;
  fprintf(stderr, "%s: code %d: %s\n", what, (int)tailor_status_code(status), tailor_status_message(status));
  tailor_status_release(status);
  ++failures;
  return 0;
}

/* True where `status` is INVALID_ARGUMENT and names `part`. */
static void expect_invalid(tailor_status* status, const char* part) {
  expect(tailor_status_code(status) == TAILOR_INVALID_ARGUMENT, part);
  expect(strstr(tailor_status_message(status), part) != NULL, tailor_status_message(status));
  tailor_status_release(status);
}

static int build(tailor_graph* graph) {
  static const float weights[COLUMNS] = {1, 2, 3, 4};
  const int64_t weight_dims[1] = {COLUMNS}, last[1] = {-1};
  tailor_symbol_options options;
  tailor_dim dims[2];
  tailor_value x, w, half, scaled, y, total;
  tailor_symbol_options_init(&options);
  options.min = 1;
  options.max = 64;
  return ok(tailor_graph_symbol(graph, "B", 1, &options, &dims[0]), "symbol") &&
         ok(tailor_graph_dim(graph, COLUMNS, &dims[1]), "dim") &&
         ok(tailor_graph_input(graph, "x", 1, TAILOR_F32, dims, 2, &x), "input") &&
         ok(tailor_graph_constant(graph, "w", 1, TAILOR_F32, weight_dims, 1, weights, sizeof(weights), NULL, NULL, &w),
            "constant") &&
         ok(tailor_graph_scalar(graph, TAILOR_F32, 0.5, &half), "scalar") &&
         ok(tailor_graph_mul(graph, x, w, &scaled), "mul") && ok(tailor_graph_add(graph, scaled, half, &y), "add") &&
         ok(tailor_graph_reduce_sum(graph, y, last, 1, NULL, &total), "reduce_sum") &&
         ok(tailor_graph_output(graph, "y", 1, y), "output y") &&
         ok(tailor_graph_output(graph, "total", SIZE_MAX, total), "output total");
}

/* Runs ROWS rows and checks the results; keeps the bytes of both outputs in `results`. */
static void run(tailor_executable* executable, float results[ROWS * COLUMNS + ROWS]) {
  float input[ROWS * COLUMNS];
  tailor_tensor x, outputs[2];
  tailor_session* session = NULL;
  int i, j;
  for (i = 0; i < ROWS * COLUMNS; ++i) input[i] = (float)i;
  tailor_tensor_init(&x);
  x.data = input;
  x.data_bytes = sizeof(input);
  x.dtype = TAILOR_F32;
  x.rank = 2;
  x.dims[0] = ROWS;
  x.dims[1] = COLUMNS;
  tailor_tensor_init(&outputs[0]);
  tailor_tensor_init(&outputs[1]);
  if (!ok(tailor_session_create(executable, NULL, &session), "session")) return;
  if (ok(tailor_session_run(session, &x, 1, outputs, 2), "run")) {
    const float* y = (const float*)outputs[0].data;
    const float* total = (const float*)outputs[1].data;
    expect(outputs[0].rank == 2 && outputs[0].dims[0] == ROWS && outputs[0].dims[1] == COLUMNS, "dims of y");
    expect(outputs[1].rank == 1 && outputs[1].dims[0] == ROWS, "dims of total");
    for (i = 0; i < ROWS; ++i) {
      float sum = 0;
      for (j = 0; j < COLUMNS; ++j) {
        const float wanted = (float)((i * COLUMNS + j) * (j + 1)) + 0.5f;
        expect(y[i * COLUMNS + j] == wanted, "element of y");
        sum += wanted;
      }
      expect(total[i] == sum, "element of total");
    }
    memcpy(results, y, sizeof(float) * ROWS * COLUMNS);
    memcpy(results + ROWS * COLUMNS, total, sizeof(float) * ROWS);
  }
  x.dims[0] = 65;
  expect_invalid(tailor_session_run(session, &x, 1, outputs, 2), "x");
  tailor_session_release(session);
}

int main(int argc, char** argv) {
  tailor_graph* graph = NULL;
  tailor_executable *compiled = NULL, *loaded = NULL;
  float first[ROWS * COLUMNS + ROWS] = {0}, second[ROWS * COLUMNS + ROWS] = {1};
  if (argc != 2) {
    fprintf(stderr, "usage: c99_test ARTIFACT\n");
    return 2;
  }
  expect_invalid(tailor_graph_compile(NULL, NULL, NULL, &compiled), "graph");
  if (ok(tailor_graph_create("hosts", SIZE_MAX, &graph), "create") && build(graph) &&
      ok(tailor_graph_compile(graph, NULL, NULL, &compiled), "compile")) {
    tailor_graph_release(graph);
    graph = NULL;
    run(compiled, first);
    if (ok(tailor_executable_save(compiled, argv[1], SIZE_MAX), "save") &&
        ok(tailor_executable_load(NULL, argv[1], SIZE_MAX, NULL, &loaded), "load")) {
      run(loaded, second);
      expect(memcmp(first, second, sizeof(first)) == 0, "the loaded artifact gives the same bytes");
    }
  }
  tailor_executable_release(loaded);
  tailor_executable_release(compiled);
  tailor_graph_release(graph);
  return failures == 0 ? 0 : 1;
}
