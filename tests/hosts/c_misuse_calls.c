/* Calls in a wrong order, during other calls, and on handles that other threads use or release. */
#include <pthread.h>
#include <stdlib.h>

#include "tests/hosts/c_misuse.h"

void wrong_order(void) {
  struct DLManagedTensor* taken;
  Run run;
  set_run(&run);
  must_code(tailor_session_follow(session, NULL), 0, "follow");
  must_code(tailor_session_record(session, &run), 0, "record");
  if (may(tailor_session_reserve(session, &run.x, 1), "reserve"))
    must_code(tailor_session_take_output(session, 0, NULL, &taken), TAILOR_FAILED_PRECONDITION, "take after reserve");
  may(tailor_session_run(session, &run.x, 1, run.outputs, 2), "run");
  must_code(tailor_session_take_output(session, 0, NULL, &taken), TAILOR_FAILED_PRECONDITION,
            "take of the host's memory");
  must_code(tailor_session_run(session, &run.x, 1, run.outputs, 1), TAILOR_INVALID_ARGUMENT, "one output");
}

typedef struct {
  tailor_session* session;
  int calls, released;
} During;

/* A trace function that uses its session, and at times releases it. */
static void use_session(void* user, const tailor_trace_event* event) {
  During* during = (During*)user;
  Run run;
  (void)event;
  set_run(&run);
  ++during->calls;
  must_code(tailor_session_run(during->session, &run.x, 1, run.outputs, 2), TAILOR_FAILED_PRECONDITION, "nested run");
  must_code(tailor_session_trim(during->session), TAILOR_FAILED_PRECONDITION, "nested trim");
  must_code(tailor_session_bind(during->session, &run.x, 1, run.outputs, 2), TAILOR_FAILED_PRECONDITION, "nested bind");
  if (!during->released && pick(2)) {
    during->released = 1;
    tailor_session_release(during->session);
  }
}

void nested_calls(void) {
  During during = {NULL, 0, 0};
  tailor_session_options session_options;
  Run run;
  set_run(&run);
  tailor_session_options_init(&session_options);
  session_options.trace = use_session;
  session_options.trace_user = &during;
  may(tailor_session_create(plain, &session_options, &during.session), "session");
  may(tailor_session_run(during.session, &run.x, 1, run.outputs, 2), "run");
  if (during.calls == 0) fail("trace", "was not called");
  if (!during.released) tailor_session_release(during.session);
}

static int32_t use_graph(void* user, const char* phase, double done) {
  tailor_value made;
  const char* text;
  (void)phase;
  (void)done;
  must_code(tailor_graph_exp((tailor_graph*)user, values[0], &made), TAILOR_FAILED_PRECONDITION,
            "change while compiling");
  may(tailor_graph_text((tailor_graph*)user, &text), "text while compiling");
  return 0;
}

void cancelled_compilation(void) {
  tailor_compile_options compile_options;
  tailor_executable* executable;
  tailor_compile_options_init(&compile_options);
  compile_options.progress = use_graph;
  compile_options.progress_user = graphs[0];
  if (tailor_graph_output_count(graphs[0]) == 0) may(tailor_graph_output(graphs[0], "o", 1, values[0]), "output");
  must_code(tailor_graph_compile(graphs[0], NULL, &compile_options, &executable), 0, "compile");
}

/* One thread runs a session until told to end; this one meanwhile calls what it may not, and releases it during a run.
 */
typedef struct {
  pthread_mutex_t mutex;
  pthread_cond_t changed;
  int inside, may_go;
  tailor_session* session;
} Meeting;

static void wait_inside(void* user, const tailor_trace_event* event) {
  Meeting* meeting = (Meeting*)user;
  (void)event;
  pthread_mutex_lock(&meeting->mutex);
  meeting->inside = 1;
  pthread_cond_broadcast(&meeting->changed);
  while (!meeting->may_go) pthread_cond_wait(&meeting->changed, &meeting->mutex);
  pthread_mutex_unlock(&meeting->mutex);
}

static void* run_once(void* argument) {
  float in[4] = {1, 2, 3, 4};
  tailor_tensor x, outputs[2];
  set_tensor(&x, in, TAILOR_F32, 2, 1, 4);
  x.data_bytes = sizeof(in);
  tailor_tensor_init(&outputs[0]);
  tailor_tensor_init(&outputs[1]);
  return tailor_session_run(((Meeting*)argument)->session, &x, 1, outputs, 2);
}

void two_threads(void) {
  Meeting meeting = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, 0, 0, NULL};
  tailor_session_options session_options;
  pthread_t thread;
  void* status;
  Run run;
  const int release = pick(2) != 0;
  set_run(&run);
  tailor_session_options_init(&session_options);
  session_options.trace = wait_inside;
  session_options.trace_user = &meeting;
  if (!may(tailor_session_create(plain, &session_options, &meeting.session), "session")) return;
  if (pthread_create(&thread, NULL, run_once, &meeting) != 0) exit(1);
  pthread_mutex_lock(&meeting.mutex);
  while (!meeting.inside) pthread_cond_wait(&meeting.changed, &meeting.mutex);
  pthread_mutex_unlock(&meeting.mutex);
  if (release) tailor_session_release(meeting.session); /* freed when the run ends; until then calls are refused */
  must_code(tailor_session_run(meeting.session, &run.x, 1, run.outputs, 2), TAILOR_FAILED_PRECONDITION, "run");
  must_code(tailor_session_wait(meeting.session), TAILOR_FAILED_PRECONDITION, "wait");
  must_code(tailor_session_set_timeout(meeting.session, 1), TAILOR_FAILED_PRECONDITION, "timeout");
  must_code(tailor_session_set_seed(meeting.session, 1), TAILOR_FAILED_PRECONDITION, "seed");
  if (!release && pick(2)) may(tailor_session_cancel(meeting.session), "cancel");
  pthread_mutex_lock(&meeting.mutex);
  meeting.may_go = 1;
  pthread_cond_broadcast(&meeting.changed);
  pthread_mutex_unlock(&meeting.mutex);
  pthread_join(thread, &status);
  may((tailor_status*)status, "the other thread's run");
  if (!release) tailor_session_release(meeting.session);
}
