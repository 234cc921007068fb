/* Prints the inputs and outputs of an artifact, and the memory of a run where every symbol has the value N.
 *
 *   run_artifact FILE N
 *
 * Links only libtailor_runtime.so. */
#include <stdio.h>
#include <stdlib.h>

#include "tailor/runtime.h"

static void check(tailor_status* status) {
  if (status == NULL) return;
  fprintf(stderr, "run_artifact: %s\n", tailor_status_message(status));
  tailor_status_release(status);
  exit(1);
}

static void print(const char* kind, const tailor_tensor_info* info) {
  int32_t i;
  printf("%s %s [", kind, info->name);
  for (i = 0; i < info->rank; ++i) printf("%s%s", i > 0 ? ", " : "", info->dim_texts[i]);
  printf("]\n");
}

int main(int argc, char** argv) {
  tailor_executable* executable = NULL;
  size_t i, inputs, outputs;
  tailor_tensor *given, *results;
  tailor_plan_info plan;
  if (argc != 3) {
    fprintf(stderr, "usage: run_artifact FILE N\n");
    return 2;
  }
  check(tailor_executable_load(NULL, argv[1], SIZE_MAX, NULL, &executable));
  inputs = tailor_executable_input_count(executable);
  outputs = tailor_executable_output_count(executable);
  given = (tailor_tensor*)calloc(inputs + 1, sizeof(tailor_tensor));
  results = (tailor_tensor*)calloc(outputs + 1, sizeof(tailor_tensor));
  if (given == NULL || results == NULL) return 1;
  for (i = 0; i < inputs; ++i) {
    tailor_tensor_info info;
    int32_t d;
    tailor_tensor_info_init(&info);
    check(tailor_executable_input(executable, i, &info));
    print("input ", &info);
    tailor_tensor_init(&given[i]);
    given[i].dtype = info.dtype;
    given[i].rank = info.rank;
    for (d = 0; d < info.rank; ++d)
      given[i].dims[d] = info.extents[d] >= 0 ? info.extents[d] : strtol(argv[2], NULL, 10);
  }
  for (i = 0; i < outputs; ++i) {
    tailor_tensor_info info;
    tailor_tensor_info_init(&info);
    check(tailor_executable_output(executable, i, &info));
    print("output", &info);
    tailor_tensor_init(&results[i]);
  }
  tailor_plan_info_init(&plan);
  check(tailor_executable_plan(executable, given, inputs, results, outputs, &plan));
  printf("workspace %llu bytes\n", (unsigned long long)plan.workspace_bytes);
  free(given);
  free(results);
  tailor_executable_release(executable);
  return 0;
}
