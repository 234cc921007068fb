/* Runs a sentence encoder: encoder ARTIFACT INPUTS OUTPUTS. INPUTS has i64 numbers: B, S, ids[B, S], mask[B, S] of one
 * batch after the other. Prints the milliseconds until the artifact is loaded and until the first result. */
#define _POSIX_C_SOURCE 199309L
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "tailor/runtime.h"

static void check(tailor_status* status) {
  if (status == NULL) return;
  fprintf(stderr, "encoder: %s\n", tailor_status_message(status));
  exit(1);
}

static double milliseconds(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return now.tv_sec * 1e3 + now.tv_nsec / 1e6;
}

static tailor_tensor matrix(int64_t* data, int64_t rows, int64_t columns) {
  tailor_tensor tensor;
  tailor_tensor_init(&tensor);
  tensor.data = data;
  tensor.data_bytes = (uint64_t)(rows * columns) * sizeof(int64_t);
  tensor.dtype = TAILOR_I64;
  tensor.rank = 2;
  tensor.dims[0] = rows;
  tensor.dims[1] = columns;
  return tensor;
}

int main(int argc, char** argv) {
  tailor_executable* executable;
  tailor_session* session;
  FILE *in = argc == 4 ? fopen(argv[2], "rb") : NULL, *out = in != NULL ? fopen(argv[3], "wb") : NULL;
  double begin = milliseconds(), loaded, first = 0;
  int64_t size[2];
  if (out == NULL) return 2;
  check(tailor_executable_load(NULL, argv[1], SIZE_MAX, NULL, &executable));
  check(tailor_session_create(executable, NULL, &session));
  loaded = milliseconds();
  while (fread(size, sizeof(size), 1, in) == 1) {
    size_t count = (size_t)(size[0] * size[1]);
    int64_t* numbers = (int64_t*)malloc(2 * count * sizeof(int64_t));
    if (numbers == NULL || fread(numbers, sizeof(int64_t), 2 * count, in) != 2 * count) return 1;
    tailor_tensor ids = matrix(numbers, size[0], size[1]), mask = matrix(numbers + count, size[0], size[1]);
    tailor_tensor inputs[2] = {ids, mask}, embedding;
    tailor_tensor_init(&embedding); /* data is NULL: the session provides the memory */
    check(tailor_session_run(session, inputs, 2, &embedding, 1));
    if (first == 0) first = milliseconds();
    fwrite(embedding.data, 1, embedding.data_bytes, out);
    free(numbers);
  }
  tailor_session_release(session);
  tailor_executable_release(executable);
  printf("%.2f %.2f\n", loaded - begin, first - begin);
  return fclose(out) == 0 ? 0 : 1;
}
