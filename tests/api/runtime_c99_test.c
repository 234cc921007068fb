/* tailor/runtime.h from pedantic C99: it compiles, links, and answers a first few calls. */
#include "tailor/runtime.h"

#include <stdio.h>
#include <string.h>

int main(void) {
  tailor_tensor tensor;
  tailor_runtime_options options;
  tailor_runtime* runtime = NULL;
  tailor_executable* executable = NULL;
  tailor_status* status;

  tailor_tensor_init(&tensor);
  if (tensor.struct_size != sizeof(tailor_tensor) || tensor.data != NULL) return 1;
  tailor_runtime_options_init(&options);
  status = tailor_runtime_create(&options, &runtime);
  if (tailor_status_code(status) != TAILOR_OK || runtime == NULL) return 2;
  status = tailor_executable_load(runtime, "/nowhere/model.tlr", SIZE_MAX, NULL, &executable);
  if (tailor_status_code(status) != TAILOR_NOT_FOUND || executable != NULL) return 3;
  if (strstr(tailor_status_message(status), "/nowhere/model.tlr") == NULL) return 4;
  if (strcmp(tailor_status_node(status), "") != 0) return 5;
  tailor_status_release(status);
  tailor_runtime_release(runtime);
  printf("%s\n%s\n", tailor_version(), tailor_cpu_features());
  if (tailor_usable_cpus() < 1) return 1;
  return 0;
}
