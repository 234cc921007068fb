/* 200 random programs that use the C API wrongly: NULL, handles of other kinds, wrong sizes of structs, wrong tensors
 * and wrong_indices, values of other graphs, damaged files, calls on handles that other threads use or release. Each
 * mistake must give a status with a code and a message, and none may end the process. Released handles are not used.
 *
 *   c_misuse_test [SEED]     default 1 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/hosts/c_misuse.h"

#define PROGRAMS 200
#define STEPS 60

static unsigned seed, state;
static int program, step, kind, errors, failures;
tailor_executable *plain, *donating;

unsigned pick(unsigned count) {
  state = state * 1664525u + 1013904223u;
  return (state >> 8) % count;
}

int64_t number(void) {
  static const int64_t numbers[] = {0, 1, 2, 3, 4, 7, -1, -2, -4, 8, 1 << 20, INT32_MAX, INT64_MAX, INT64_MIN};
  return numbers[pick(sizeof(numbers) / sizeof(numbers[0]))];
}

void fail(const char* what, const char* text) {
  ++failures;
  fprintf(stderr, "seed %u, program %d, step %d of kind %d: %s: %s\n", seed, program, step, kind, what, text);
}

int may(tailor_status* status, const char* what) {
  const int32_t code = tailor_status_code(status);
  if (status == NULL) return 1;
  ++errors;
  if (code == TAILOR_OK || code == TAILOR_INTERNAL || tailor_status_message(status)[0] == '\0')
    fail(what, tailor_status_message(status));
  tailor_status_release(status);
  return 0;
}

void must_code(tailor_status* status, int32_t code, const char* what) {
  if (status == NULL) fail(what, "succeeded");
  if (status != NULL && code != 0 && tailor_status_code(status) != code) fail(what, tailor_status_message(status));
  may(status, what);
}
void must(tailor_status* status, const char* what) { must_code(status, TAILOR_INVALID_ARGUMENT, what); }

static void died(int signal) {
  fprintf(stderr, "seed %u, program %d, step %d of kind %d: signal %d\n", seed, program, step, kind, signal);
  _Exit(1);
}

/* ---- What programs share ----------------------------------------------------------------------- */

static tailor_executable* compile(tailor_graph* graph, const char* donated) {
  const char* host = "host";
  tailor_compile_options options;
  tailor_executable* executable = NULL;
  tailor_compile_options_init(&options);
  options.targets = &host;
  options.target_count = 1;
  options.max_versions = 1;
  options.donated = &donated;
  options.donated_count = donated != NULL;
  if (!may(tailor_graph_compile(graph, NULL, &options, &executable), "compile")) exit(1);
  tailor_graph_release(graph);
  return executable;
}

static void compile_both(void) {
  tailor_graph* graph = NULL;
  tailor_dim dims[2], one[2];
  tailor_value x, two, y, rows, cache, at, row, next;
  const int64_t last = 1;
  int right =
      may(tailor_graph_create("plain", SIZE_MAX, &graph), "graph") &&
      may(tailor_graph_symbol(graph, "N", 1, NULL, &dims[0]), "N") && may(tailor_graph_dim(graph, 4, &dims[1]), "4") &&
      may(tailor_graph_input(graph, "x", 1, TAILOR_F32, dims, 2, &x), "x") &&
      may(tailor_graph_scalar(graph, TAILOR_F32, 2, &two), "2") && may(tailor_graph_mul(graph, x, two, &y), "mul") &&
      may(tailor_graph_reduce_sum(graph, x, &last, 1, NULL, &rows), "sum") &&
      may(tailor_graph_output(graph, "y", 1, y), "y") &&
      may(tailor_graph_output(graph, "rows", SIZE_MAX, rows), "rows");
  if (!right) exit(1);
  plain = compile(graph, NULL);
  right = may(tailor_graph_create("donating", SIZE_MAX, &graph), "graph") &&
          may(tailor_graph_symbol(graph, "S", 1, NULL, &dims[0]), "S") &&
          may(tailor_graph_dim(graph, 4, &dims[1]), "4") && may(tailor_graph_dim(graph, 1, &one[0]), "1");
  one[1] = one[0];
  right = right && may(tailor_graph_input(graph, "cache", SIZE_MAX, TAILOR_F32, dims, 2, &cache), "cache") &&
          may(tailor_graph_input(graph, "at", SIZE_MAX, TAILOR_I64, one, 2, &at), "at");
  dims[0] = one[0];
  right = right && may(tailor_graph_input(graph, "row", SIZE_MAX, TAILOR_F32, dims, 2, &row), "row") &&
          may(tailor_graph_scatter(graph, cache, at, row, "set", SIZE_MAX, &next), "scatter") &&
          may(tailor_graph_output(graph, "next", SIZE_MAX, next), "next");
  if (!right) exit(1);
  donating = compile(graph, "cache");
}

/* ---- What a program has ------------------------------------------------------------------------ */

tailor_runtime* runtime;
tailor_session *session, *donating_session;
tailor_graph* graphs[2];
tailor_value values[MAX_VALUES];
tailor_dim dims[MAX_VALUES];
int value_count, dim_count;
float memory[256], results[256];
static int names;

static tailor_graph* any_graph(void) { return graphs[pick(2)]; }
static tailor_value any_value(void) {
  return pick(12) == 0 ? (tailor_value)number() : values[pick((unsigned)value_count)];
}
static tailor_dim any_dim(void) { return pick(12) == 0 ? (tailor_dim)number() : dims[pick((unsigned)dim_count)]; }

static void keep_value(tailor_value value) {
  if (value_count < MAX_VALUES) values[value_count++] = value;
}
static void keep_dim(tailor_dim dim) {
  if (dim_count < MAX_VALUES) dims[dim_count++] = dim;
}

void new_input(tailor_graph* graph) {
  char name[16];
  tailor_dim shape[2];
  tailor_value x;
  snprintf(name, sizeof(name), "n%d", ++names);
  if (may(tailor_graph_symbol(graph, name, SIZE_MAX, NULL, &shape[0]), "symbol") &&
      may(tailor_graph_dim(graph, 4, &shape[1]), "dim") &&
      may(tailor_graph_input(graph, name, SIZE_MAX, pick(4) == 0 ? TAILOR_I64 : TAILOR_F32, shape, 2, &x), "input")) {
    keep_dim(shape[0]);
    keep_value(x);
  }
}

static void begin_program(void) {
  int i;
  value_count = dim_count = 0;
  may(tailor_runtime_create(NULL, &runtime), "runtime");
  may(tailor_session_create(plain, NULL, &session), "session");
  may(tailor_session_create(donating, NULL, &donating_session), "session");
  for (i = 0; i < 2; ++i) {
    may(tailor_graph_create("graph", SIZE_MAX, &graphs[i]), "graph");
    new_input(graphs[i]);
  }
}

static void end_program(void) {
  tailor_runtime_release(runtime);
  tailor_session_release(session);
  tailor_session_release(donating_session);
  tailor_graph_release(graphs[0]);
  tailor_graph_release(graphs[1]);
}

void set_tensor(tailor_tensor* tensor, void* data, int32_t dtype, int32_t rank, int64_t rows, int64_t columns) {
  tailor_tensor_init(tensor);
  tensor->data = data;
  tensor->data_bytes = sizeof(memory);
  tensor->dtype = dtype;
  tensor->rank = rank;
  tensor->dims[0] = rows;
  tensor->dims[1] = columns;
}

void set_run(Run* run) {
  const int64_t rows = 1 + pick(8);
  set_tensor(&run->x, memory, TAILOR_F32, 2, rows, 4);
  set_tensor(&run->outputs[0], results, TAILOR_F32, 2, rows, 4);
  set_tensor(&run->outputs[1], results + 128, TAILOR_F32, 1, rows, 0);
  run->outputs[0].data_bytes = run->outputs[1].data_bytes = 512;
}

/* ---- Graphs ---- */

static void build_graphs(void) {
  tailor_graph* graph = any_graph();
  tailor_value made = 0, operands[3];
  tailor_dim shape[3], dim;
  int64_t numbers[2];
  int32_t relation;
  int right = 0;
  operands[0] = any_value(), operands[1] = any_value(), operands[2] = any_value();
  shape[0] = any_dim(), shape[1] = any_dim(), shape[2] = any_dim();
  numbers[0] = number(), numbers[1] = number();
  switch (pick(18)) {
    case 0:
      right = may(tailor_graph_add(graph, operands[0], operands[1], &made), "add");
      break;
    case 1:
      right = may(tailor_graph_dot(graph, operands[0], operands[1], NULL, &made), "dot");
      break;
    case 2:
      right = may(tailor_graph_exp(graph, operands[0], &made), "exp");
      break;
    case 3:
      right = may(tailor_graph_reduce_sum(graph, operands[0], numbers, pick(3), NULL, &made), "sum");
      break;
    case 4:
      right = may(tailor_graph_softmax(graph, operands[0], numbers[0], &made), "softmax");
      break;
    case 5:
      right = may(tailor_graph_reshape(graph, operands[0], shape, pick(4), &made), "reshape");
      break;
    case 6:
      right = may(tailor_graph_broadcast(graph, operands[0], shape, pick(4), &made), "broadcast");
      break;
    case 7:
      right = may(tailor_graph_concat(graph, operands, pick(4), numbers[0], &made), "concat");
      break;
    case 8:
      right = may(tailor_graph_gather(graph, operands[0], operands[1], NULL, &made), "gather");
      break;
    case 9:
      right = may(tailor_graph_select(graph, operands[0], operands[1], operands[2], &made), "select");
      break;
    case 10:
      right = may(tailor_graph_attention(graph, operands[0], operands[1], operands[2], any_value(), 0.5, &made),
                  "attention");
      break;
    case 11:
      right = may(tailor_graph_scalar(graph, (int32_t)pick(16), (double)numbers[0], &made), "scalar");
      break;
    case 12:
      may(tailor_graph_output(graph, pick(2) ? "out" : "\xff\xfe", SIZE_MAX, operands[0]), "output");
      break;
    case 13:
      may(tailor_dim_compare(graph, shape[0], shape[1], (int32_t)numbers[0], &relation), "compare");
      break;
    case 14:
      may(tailor_graph_assume_equal(graph, shape[0], shape[1]), "assume");
      break;
    case 15:
      if (may(tailor_dim_mul(graph, shape[0], shape[1], &dim), "dim_mul")) keep_dim(dim);
      if (may(tailor_dim_floordiv(graph, shape[0], shape[2], &dim), "floordiv")) keep_dim(dim);
      break;
    case 16:
      if (may(tailor_graph_dim(graph, numbers[0], &dim), "dim")) keep_dim(dim);
      must(tailor_graph_input(graph, "bad", 3, 99, shape, 1, &made), "dtype");
      break;
    default:
      new_input(graph);
      break;
  }
  if (right) keep_value(made);
  if (pick(6) == 0)
    must(tailor_graph_exp(graphs[0], values[1] >> 32 == values[0] >> 32 ? 0 : values[1], &made), "foreign value");
}

int main(int argc, char** argv) {
  static void (*const mistakes[])(void) = {null_arguments, other_handles, struct_sizes,          wrong_tensors,
                                           wrong_donation, wrong_indices, wrong_options,         wrong_files,
                                           build_graphs,   build_graphs,  build_graphs,          wrong_operators,
                                           wrong_order,    nested_calls,  cancelled_compilation, two_threads};
  seed = argc > 1 ? (unsigned)strtoul(argv[1], NULL, 10) : 1;
  signal(SIGSEGV, died);
  signal(SIGABRT, died);
  signal(SIGFPE, died);
  signal(SIGBUS, died);
  compile_both();
  for (program = 0; program < PROGRAMS; ++program) {
    state = seed * 100003u + (unsigned)program;
    begin_program();
    for (step = 0; step < STEPS; ++step) {
      kind = (int)pick(sizeof(mistakes) / sizeof(mistakes[0]));
      mistakes[kind]();
    }
    end_program();
  }
  tailor_executable_release(plain);
  tailor_executable_release(donating);
  printf("seed %u: %d programs, %d errors, %d failures\n", seed, PROGRAMS, errors, failures);
  return failures == 0 ? 0 : 1;
}
