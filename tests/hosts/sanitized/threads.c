/* 8 threads on one executable: sessions that run, are cancelled, trimmed and traced, also by threads that do not own
 * them; tailor_executable_run; runtimes and operators that come and go; outputs freed by other threads.
 *
 *   threads ARTIFACT [ROUNDS [SEED]]
 *
 * Links only libtailor_runtime.so. ./dev test-hosts-sanitized builds both with sanitizers. */
#define _POSIX_C_SOURCE 200112L
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tailor/runtime.h"

#define THREADS 8
#define COLUMNS 64
#define ROWS 600
#define MANY_TURNS ((int64_t)1 << 40)

/* As in dlpack.h. */
typedef struct DLManagedTensor {
  struct {
    void* data;
    struct {
      int32_t type, id;
    } device;
    int32_t ndim;
    struct {
      uint8_t code, bits;
      uint16_t lanes;
    } dtype;
    int64_t *shape, *strides;
    uint64_t byte_offset;
  } tensor;
  void* context;
  void (*deleter)(struct DLManagedTensor* self);
} DLManagedTensor;

static const char* artifact;
static tailor_runtime* runtime;
static tailor_executable* executable;
static tailor_session* sessions[THREADS]; /* one per thread, but used by all */
static float x_data[ROWS * COLUMNS];

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER; /* guards what follows */
static int failures, logged, serial;
static int64_t allocated;      /* blocks of memory */
static DLManagedTensor* taken; /* an output that any thread frees */

static int64_t add(int64_t* count, int64_t amount) {
  int64_t sum;
  pthread_mutex_lock(&mutex);
  sum = *count += amount;
  pthread_mutex_unlock(&mutex);
  return sum;
}

static void fail(const char* what, const char* text) {
  pthread_mutex_lock(&mutex);
  ++failures;
  pthread_mutex_unlock(&mutex);
  fprintf(stderr, "failed: %s: %s\n", what, text);
}

/* Frees `status`; a code that is neither 0 nor `other` is a failure. Returns the code. */
static int32_t expect(tailor_status* status, int32_t other, const char* what) {
  const int32_t code = tailor_status_code(status);
  if (code != TAILOR_OK && code != other) fail(what, tailor_status_message(status));
  tailor_status_release(status);
  return code;
}

static void ok(tailor_status* status, const char* what) { expect(status, TAILOR_OK, what); }

/* ---- What the host gives to the runtime -------------------------------------------------------- */

static void* host_allocate(void* user, size_t bytes, size_t alignment) {
  void* data = NULL;
  if (posix_memalign(&data, alignment < sizeof(void*) ? sizeof(void*) : alignment, bytes > 0 ? bytes : 1) != 0)
    return NULL;
  add((int64_t*)user, 1);
  return data;
}

static void host_free(void* user, void* data, size_t bytes) {
  (void)bytes;
  if (data != NULL) add((int64_t*)user, -1);
  free(data);
}

static void host_log(void* user, int32_t level, const char* message) {
  (void)user;
  (void)level;
  pthread_mutex_lock(&mutex);
  logged += message[0] != '\0';
  pthread_mutex_unlock(&mutex);
}

static int32_t negate(void* user, const tailor_custom_call* call) {
  const float* x = (const float*)call->operands[0].data;
  float* y = (float*)call->results[0].data;
  const int64_t count = call->operands[0].dims[0] * call->operands[0].dims[1];
  int64_t i;
  (void)user;
  for (i = 0; i < count; ++i) y[i] = -x[i];
  return 0;
}

static void released(void* user) {
  if (user != NULL) add((int64_t*)user, 1);
}

static void register_negate(tailor_runtime* to, const char* name, int64_t* count) {
  tailor_custom_operator op;
  tailor_custom_operator_init(&op);
  op.name = name;
  op.name_size = strlen(name);
  op.function = negate;
  op.user = count;
  op.released = released;
  ok(tailor_runtime_register(to, &op), "register");
}

/* An executor: the second half of the calls on a thread of its own. */
typedef struct {
  void (*task)(void* data, size_t index);
  void* data;
  size_t begin, end;
} Half;

static void* run_half(void* argument) {
  const Half* half = (const Half*)argument;
  size_t i;
  for (i = half->begin; i < half->end; ++i) half->task(half->data, i);
  return NULL;
}

static void executor(void* user, void (*task)(void* data, size_t index), void* data, size_t count) {
  Half first = {task, data, 0, count / 2}, second = {task, data, count / 2, count};
  pthread_t thread;
  const int started = pthread_create(&thread, NULL, run_half, &second) == 0;
  (void)user;
  run_half(&first);
  if (started) pthread_join(thread, NULL); /* calls left out are made by the library */
}

static void trace(void* user, const tailor_trace_event* event) {
  if (event->end_ns < event->begin_ns) fail("trace", "a launch ends before it begins");
  ++*(int*)user;
}

/* ---- Runs ---------------------------------------------------------------------------------------- */

typedef struct {
  int64_t turns;
  tailor_tensor inputs[2], outputs[3]; /* x, turns; y, kept, t */
} Arguments;

static void set_arguments(Arguments* arguments, int64_t rows, int64_t turns) {
  int i;
  memset(arguments, 0, sizeof(*arguments));
  for (i = 0; i < 2; ++i) tailor_tensor_init(&arguments->inputs[i]);
  for (i = 0; i < 3; ++i) tailor_tensor_init(&arguments->outputs[i]);
  arguments->turns = turns;
  arguments->inputs[0].data = x_data;
  arguments->inputs[0].data_bytes = (uint64_t)rows * COLUMNS * sizeof(float);
  arguments->inputs[0].dtype = TAILOR_F32;
  arguments->inputs[0].rank = 2;
  arguments->inputs[0].dims[0] = rows;
  arguments->inputs[0].dims[1] = COLUMNS;
  arguments->inputs[1].data = &arguments->turns;
  arguments->inputs[1].data_bytes = sizeof(int64_t);
  arguments->inputs[1].dtype = TAILOR_I64;
}

static void set_output(tailor_tensor* output, void* data, uint64_t bytes, int32_t dtype, int32_t rank) {
  output->data = data;
  output->data_bytes = bytes;
  output->dtype = dtype;
  output->rank = rank;
  output->dims[0] = output->dims[1] = -1;
}

/* Rows of y have the sum 1; t is the number of turns. */
static void check_results(const Arguments* arguments, const char* what) {
  const float* y = (const float*)arguments->outputs[0].data;
  int64_t row;
  int i;
  if (*(const int64_t*)arguments->outputs[2].data != arguments->turns) fail(what, "t is wrong");
  if (arguments->outputs[1].dims[0] != arguments->inputs[0].dims[0] / 2) fail(what, "the number of kept rows is wrong");
  for (row = 0; row < arguments->outputs[0].dims[0]; ++row) {
    float sum = 0;
    for (i = 0; i < COLUMNS; ++i) sum += y[row * COLUMNS + i];
    if (sum < 0.999f || sum > 1.001f) fail(what, "a row of y does not have the sum 1");
  }
}

static void run_alone(int64_t rows, unsigned random) {
  tailor_session_options options;
  tailor_session* session = NULL;
  Arguments arguments;
  int events = 0, i;
  tailor_session_options_init(&options);
  options.threads = 1 + random % 4;
  options.parallel_for = random & 16 ? executor : NULL;
  options.trace = trace;
  options.trace_user = &events;
  options.idle_sleep = random & 32 ? 1 : 0;
  ok(tailor_session_create(executable, &options, &session), "session");
  if (session == NULL) return;
  for (i = 0; i < 3; ++i) {
    set_arguments(&arguments, rows >> i > 0 ? rows >> i : 1, i);
    ok(tailor_session_run(session, arguments.inputs, 2, arguments.outputs, 3), "run");
    check_results(&arguments, "run");
    if (i == 1) ok(tailor_session_trim(session), "trim");
  }
  if (events == 0) fail("trace", "no events");
  if (random & 64) {
    DLManagedTensor *mine = NULL, *other;
    ok(tailor_session_take_output(session, random & 128 ? 0 : 1, NULL, (struct DLManagedTensor**)&mine), "take");
    pthread_mutex_lock(&mutex);
    other = taken;
    taken = mine;
    pthread_mutex_unlock(&mutex);
    if (other != NULL) {
      ((float*)other->tensor.data)[0] = 1;
      other->deleter(other);
    }
  }
  tailor_session_release(session);
}

/* The session is that of any thread: others cancel it, and may be using it. */
static void run_shared(tailor_session* session, int64_t rows, unsigned random) {
  Arguments arguments;
  tailor_status* status;
  int32_t code;
  set_arguments(&arguments, rows, random & 16 ? MANY_TURNS : 2);
  status = tailor_session_run(session, arguments.inputs, 2, arguments.outputs, 3);
  code = tailor_status_code(status);
  if (code != TAILOR_OK && code != TAILOR_FAILED_PRECONDITION && code != TAILOR_CANCELLED &&
      code != TAILOR_DEADLINE_EXCEEDED)
    fail("shared run", tailor_status_message(status));
  tailor_status_release(status);
}

static void run_pooled(int64_t rows) {
  const uint64_t bytes = (uint64_t)rows * COLUMNS * sizeof(float);
  float* memory = (float*)malloc(2 * bytes);
  int64_t t = -1;
  Arguments arguments;
  if (memory == NULL) return;
  set_arguments(&arguments, rows, 3);
  set_output(&arguments.outputs[0], memory, bytes, TAILOR_F32, 2);
  set_output(&arguments.outputs[1], memory + rows * COLUMNS, bytes, TAILOR_F32, 2);
  set_output(&arguments.outputs[2], &t, sizeof(t), TAILOR_I64, 0);
  ok(tailor_executable_run(executable, arguments.inputs, 2, arguments.outputs, 3), "executable run");
  check_results(&arguments, "executable run");
  arguments.inputs[0].dims[1] = COLUMNS + 1;
  if (expect(tailor_executable_run(executable, arguments.inputs, 2, arguments.outputs, 3), TAILOR_INVALID_ARGUMENT,
             "wrong run") == TAILOR_OK)
    fail("wrong run", "succeeded");
  free(memory);
}

static void ask(int64_t rows) {
  tailor_executable_counts counts;
  tailor_counters all;
  tailor_plan_info plan;
  tailor_tensor_info info;
  Arguments arguments;
  const char* json = NULL;
  tailor_executable_counts_init(&counts);
  tailor_counters_init(&all);
  tailor_plan_info_init(&plan);
  tailor_tensor_info_init(&info);
  set_arguments(&arguments, rows, 1);
  ok(tailor_executable_counters(executable, &counts), "counters");
  tailor_counters_read(&all);
  ok(tailor_executable_describe(executable, &json), "describe");
  ok(tailor_executable_input(executable, 0, &info), "input");
  ok(tailor_executable_plan(executable, arguments.inputs, 2, arguments.outputs, 3, &plan), "plan");
  if (json == NULL || strstr(json, info.name) == NULL) fail("describe", "the input is missing");
  if (counts.sessions < THREADS) fail("counters", "sessions are missing");
}

/* A runtime with an operator of its own, and an executable that outlives it. */
static void come_and_go(int64_t rows, unsigned random) {
  int64_t operators = 0, blocks = 0;
  tailor_runtime_options options;
  tailor_runtime* own = NULL;
  tailor_executable* loaded = NULL;
  tailor_session* session = NULL;
  Arguments arguments;
  tailor_runtime_options_init(&options);
  options.allocate = host_allocate;
  options.deallocate = host_free;
  options.log = host_log;
  options.user = &blocks;
  options.parallel_threads = 1 + random % 3;
  ok(tailor_runtime_create(&options, &own), "runtime");
  register_negate(own, "test.negate", &operators);
  ok(tailor_executable_load(own, artifact, SIZE_MAX, NULL, &loaded), "load");
  if (loaded == NULL) return;
  ok(tailor_session_create(loaded, NULL, &session), "session");
  tailor_runtime_release(own);
  tailor_executable_release(loaded);
  set_arguments(&arguments, rows, 1);
  ok(tailor_session_run(session, arguments.inputs, 2, arguments.outputs, 3), "run");
  check_results(&arguments, "run of a runtime that is gone");
  tailor_session_release(session);
  if (operators != 1) fail("operator", "was not released");
  if (blocks != 0) fail("allocator", "memory was not freed");
}

static void register_another(void) {
  char name[32];
  pthread_mutex_lock(&mutex);
  snprintf(name, sizeof(name), "test.%d", ++serial);
  pthread_mutex_unlock(&mutex);
  register_negate(runtime, name, NULL);
}

static void load_another(unsigned random) {
  tailor_load_options options;
  tailor_executable* loaded = NULL;
  tailor_load_options_init(&options);
  options.verify_constants = random & 16 ? 1 : 0;
  options.copy_constants = random & 32 ? 1 : 0;
  ok(tailor_executable_load(runtime, artifact, SIZE_MAX, &options, &loaded), "load");
  tailor_executable_retain(loaded);
  tailor_executable_release(loaded);
  tailor_executable_release(loaded);
}

/* ---- Threads -------------------------------------------------------------------------------------- */

typedef struct {
  int index, rounds;
  unsigned state;
} Thread;

static unsigned next(Thread* thread) {
  thread->state = thread->state * 1664525u + 1013904223u;
  return thread->state >> 8;
}

static void step(Thread* thread) {
  const unsigned random = next(thread);
  const int64_t rows = 2 * (int64_t)(1 + next(thread) % (ROWS / 2));
  tailor_session* any = sessions[next(thread) % THREADS];
  switch (next(thread) % 12) {
    case 0:
    case 1:
      run_alone(rows, random);
      break;
    case 2:
    case 3:
      run_pooled(rows);
      break;
    case 4:
      run_shared(sessions[thread->index], rows, random);
      break;
    case 5:
      run_shared(any, rows, random);
      break;
    case 6:
      ok(tailor_session_cancel(any), "cancel");
      break;
    case 7:
      ok(tailor_session_uncancel(any), "uncancel");
      break;
    case 8:
      expect(tailor_session_trim(any), TAILOR_FAILED_PRECONDITION, "trim");
      ok(tailor_executable_trim(executable), "trim of the executable");
      break;
    case 9:
      ask(rows);
      break;
    case 10:
      register_another();
      load_another(random);
      break;
    default:
      come_and_go(rows, random);
      break;
  }
}

static void* run_thread(void* argument) {
  Thread* thread = (Thread*)argument;
  int i;
  for (i = 0; i < thread->rounds; ++i) step(thread);
  return NULL;
}

static void start(void) {
  tailor_runtime_options options;
  tailor_session_options session;
  int64_t i;
  for (i = 0; i < ROWS * COLUMNS; ++i) x_data[i] = (float)(i % 7) - 3;
  for (i = 0; i < ROWS; ++i) x_data[i * COLUMNS] = i % 2 == 0 ? -1.0f : 1.0f; /* every other row is kept */
  tailor_runtime_options_init(&options);
  options.allocate = host_allocate;
  options.deallocate = host_free;
  options.log = host_log;
  options.user = &allocated;
  options.parallel_threads = 3;
  options.pooled_sessions = 4;
  options.pooled_bytes = 1 << 20;
  ok(tailor_runtime_create(&options, &runtime), "runtime");
  register_negate(runtime, "test.negate", NULL);
  ok(tailor_executable_load(runtime, artifact, SIZE_MAX, NULL, &executable), "load");
  if (executable == NULL) exit(1);
  tailor_session_options_init(&session);
  session.timeout_ns = 5000000;
  for (i = 0; i < THREADS; ++i) {
    session.threads = (uint64_t)(1 + i % 3);
    ok(tailor_session_create(executable, &session, &sessions[i]), "session");
  }
}

static void end(void) {
  int i;
  for (i = 0; i < THREADS; ++i) tailor_session_release(sessions[i]);
  tailor_executable_release(executable);
  tailor_runtime_release(runtime);
  if (taken != NULL) taken->deleter(taken);
  if (allocated != 0) fail("allocator", "memory was not freed");
}

int main(int argc, char** argv) {
  pthread_t threads[THREADS];
  Thread states[THREADS];
  const unsigned seed = argc > 3 ? (unsigned)strtoul(argv[3], NULL, 10) : 1;
  int i;
  if (argc < 2) return 2;
  artifact = argv[1];
  start();
  for (i = 0; i < THREADS; ++i) {
    states[i].index = i;
    states[i].rounds = argc > 2 ? atoi(argv[2]) : 100;
    states[i].state = seed * 1000u + (unsigned)i;
    if (pthread_create(&threads[i], NULL, run_thread, &states[i]) != 0) return 1;
  }
  for (i = 0; i < THREADS; ++i) pthread_join(threads[i], NULL);
  end();
  printf("seed %u: %d failures\n", seed, failures);
  return failures == 0 ? 0 : 1;
}
