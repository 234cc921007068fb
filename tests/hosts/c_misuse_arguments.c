/* Mistakes with the arguments of calls. */
#include "tests/hosts/c_misuse.h"

static void* any_handle(void) {
  void* handles[6];
  handles[0] = runtime, handles[1] = plain, handles[2] = session, handles[3] = graphs[0], handles[4] = donating;
  handles[5] = donating_session;
  return handles[pick(6)];
}
void null_arguments(void) {
  tailor_executable* executable;
  tailor_session* made;
  tailor_graph *graph = graphs[pick(2)], *created;
  Run run;
  size_t size;
  set_run(&run);
  must(tailor_runtime_create(NULL, NULL), "runtime_create");
  must(tailor_runtime_register(runtime, NULL), "register");
  must(tailor_executable_load(NULL, NULL, SIZE_MAX, NULL, &executable), "load of no path");
  must(tailor_executable_load(NULL, "x", SIZE_MAX, NULL, NULL), "load");
  must(tailor_executable_load_memory(NULL, NULL, 8, NULL, NULL, NULL, &executable), "load of nothing");
  must(tailor_executable_save(NULL, "x", SIZE_MAX), "save");
  must(tailor_executable_save(plain, NULL, SIZE_MAX), "save to no path");
  must(tailor_executable_save_memory(plain, NULL, 0, NULL), "save to memory of no size");
  must(tailor_executable_save_memory(plain, &run, 8, &size), "save to too little memory");
  must(tailor_executable_input(plain, 0, NULL), "input");
  must(tailor_executable_symbol(NULL, 0, NULL), "symbol");
  must(tailor_executable_describe(plain, NULL), "describe");
  must(tailor_executable_run(plain, NULL, 1, run.outputs, 2), "executable_run");
  must(tailor_executable_counters(plain, NULL), "counters");
  must(tailor_session_create(NULL, NULL, &made), "session");
  must(tailor_session_create(plain, NULL, NULL), "session");
  must(tailor_session_run(NULL, &run.x, 1, run.outputs, 2), "run");
  must(tailor_session_run(session, NULL, 1, run.outputs, 2), "run of no inputs");
  must(tailor_session_run(session, &run.x, 1, NULL, 2), "run of no outputs");
  must(tailor_session_cancel(NULL), "cancel");
  must(tailor_session_poll(session, NULL), "poll");
  must(tailor_session_take_output(session, 0, NULL, NULL), "take_output");
  must(tailor_graph_create(NULL, 5, &created), "graph_create");
  must(tailor_graph_create("g", 1, NULL), "graph_create");
  must(tailor_graph_input(graph, "x", 1, TAILOR_F32, NULL, 2, &values[0]), "input of no dims");
  must(tailor_graph_add(graph, values[0], values[0], NULL), "add");
  must(tailor_graph_compile(graph, NULL, NULL, NULL), "compile");
  must(tailor_graph_compile_artifact(graph, NULL, NULL, NULL), "compile_artifact");
}

/* Functions of one handle, by the kind of handle that they take. */
void other_handles(void) {
  void* handle = any_handle();
  tailor_executable_counts counts;
  tailor_symbol_info symbol;
  tailor_device_info device;
  const char* text;
  tailor_session* made;
  const int is_executable = handle == plain || handle == donating;
  const int is_session = handle == session || handle == donating_session;
  tailor_executable_counts_init(&counts);
  tailor_symbol_info_init(&symbol);
  tailor_device_info_init(&device);
  if (!is_executable) {
    must(tailor_executable_counters((tailor_executable*)handle, &counts), "counters");
    must(tailor_executable_symbol((tailor_executable*)handle, 0, &symbol), "symbol");
    must(tailor_session_create((tailor_executable*)handle, NULL, &made), "session");
    must(tailor_executable_trim((tailor_executable*)handle), "trim");
    if (tailor_executable_input_count((tailor_executable*)handle) != 0) fail("input_count", "is not 0");
  }
  if (!is_session) {
    must(tailor_session_run((tailor_session*)handle, NULL, 0, NULL, 0), "run");
    must(tailor_session_trim((tailor_session*)handle), "trim");
    must(tailor_session_cancel((tailor_session*)handle), "cancel");
    must(tailor_session_set_timeout((tailor_session*)handle, 1), "timeout");
    must(tailor_session_wait((tailor_session*)handle), "wait");
    if (tailor_session_stream((tailor_session*)handle) != NULL) fail("stream", "is not NULL");
  }
  if (handle != graphs[0]) must(tailor_graph_text((tailor_graph*)handle, &text), "graph_text");
  if (handle != runtime) {
    must(tailor_runtime_device((tailor_runtime*)handle, 0, &device), "device");
    if (tailor_runtime_device_count((tailor_runtime*)handle) != 0) fail("device_count", "is not 0");
  }
}

void struct_sizes(void) {
  static const uint64_t sizes[] = {0, 1, 7, 4097, UINT64_MAX};
  const uint64_t size = sizes[pick(5)];
  Run run;
  union {
    tailor_session_options session;
    tailor_runtime_options runtime;
    tailor_load_options load;
    tailor_compile_options compile;
    tailor_symbol_options symbol;
    tailor_plan_info plan;
    tailor_tensor_info tensor;
    unsigned char bytes[512];
  } options;
  tailor_session* made;
  tailor_runtime* created;
  tailor_executable* executable;
  set_run(&run);
  memset(&options, 0, sizeof(options));
  options.session.struct_size = size;
  must(tailor_session_create(plain, &options.session, &made), "session options");
  must(tailor_runtime_create(&options.runtime, &created), "runtime options");
  must(tailor_executable_load(NULL, "x", 1, &options.load, &executable), "load options");
  must(tailor_graph_compile(graphs[0], NULL, &options.compile, &executable), "compile options");
  must(tailor_graph_symbol(graphs[0], "s", 1, &options.symbol, &dims[0]), "symbol options");
  must(tailor_executable_plan(plain, &run.x, 1, run.outputs, 2, &options.plan), "plan info");
  must(tailor_executable_input(plain, 0, &options.tensor), "tensor info");
  run.x.struct_size = size;
  must(tailor_session_run(session, &run.x, 1, run.outputs, 2), "tensor size");
  options.session.struct_size = sizeof(tailor_session_options) + 8; /* a field of a later version */
  options.bytes[sizeof(tailor_session_options) + pick(8)] = 1;
  must(tailor_session_create(plain, &options.session, &made), "unknown field");
}

void wrong_tensors(void) {
  int64_t strides[2] = {0, 0};
  size_t inputs = 1, outputs = 2;
  Run run;
  set_run(&run);
  switch (pick(17)) {
    case 0:
      run.x.rank = 1;
      break;
    case 1:
      run.x.rank = pick(2) ? -1 : 9;
      break;
    case 2:
      run.x.dims[1] = 5;
      break;
    case 3:
      run.x.dims[0] = pick(2) ? -1 : INT64_MAX;
      break;
    case 4:
      run.x.dtype = (int32_t)(pick(2) ? TAILOR_F64 : (uint32_t)number());
      break;
    case 5:
      run.x.data_bytes = 15;
      break;
    case 6:
      run.x.data = NULL;
      break;
    case 7:
      run.x.data = (char*)memory + 1 + pick(3);
      break;
    case 8:
      run.x.device = 1 + pick(3);
      break;
    case 9:
      run.x.strides = strides, strides[0] = number(), strides[1] = 3;
      break;
    case 10:
      inputs = pick(2) * 2;
      break;
    case 11:
      outputs = pick(2) * 3 + (size_t)pick(2);
      break;
    case 12:
      run.outputs[0].data = memory;
      break;
    case 13:
      run.outputs[1].data = results;
      break;
    case 14:
      run.outputs[0].dims[0] = run.x.dims[0] + 1;
      break;
    case 15:
      run.outputs[0].data_bytes = 12;
      break;
    default:
      run.outputs[1].rank = 2;
      break;
  }
  if (inputs == 2 || outputs == 3 || outputs == 4) { /* arrays of that many elements */
    tailor_tensor more[4];
    more[0] = run.x, more[1] = run.x, more[2] = run.x, more[3] = run.x;
    if (inputs == 2) must(tailor_session_run(session, more, 2, run.outputs, 2), "too many inputs");
    if (outputs > 2) must(tailor_session_run(session, &run.x, 1, more, outputs), "too many outputs");
    return;
  }
  switch (pick(3)) {
    case 0:
      must(tailor_session_run(session, &run.x, inputs, run.outputs, outputs), "run");
      break;
    case 1:
      must(tailor_executable_run(plain, &run.x, inputs, run.outputs, outputs), "executable_run");
      break;
    default:
      may(tailor_session_bind(session, &run.x, inputs, run.outputs, outputs), "bind");
      must_code(tailor_session_run_bound(session), 0, "run_bound");
      break;
  }
}

/* A donated input that overlaps another argument, is not where its output is, or has strides. */
void wrong_donation(void) {
  int64_t at = 0, strides[2] = {8, 1};
  float row[4] = {0, 0, 0, 0};
  tailor_tensor inputs[3], output;
  set_tensor(&inputs[0], memory, TAILOR_F32, 2, 4, 4);
  set_tensor(&inputs[1], &at, TAILOR_I64, 2, 1, 1);
  set_tensor(&inputs[2], row, TAILOR_F32, 2, 1, 4);
  inputs[1].data_bytes = 8;
  inputs[2].data_bytes = 16;
  set_tensor(&output, memory, TAILOR_F32, 2, 4, 4);
  switch (pick(4)) {
    case 0:
      output.data = results;
      break;
    case 1:
      inputs[2].data = memory + 4;
      break;
    case 2:
      inputs[0].strides = strides;
      break;
    default:
      at = pick(2) ? 4 + pick(3) : INT64_MIN + pick(3);
      break; /* out of range */
  }
  must_code(tailor_session_run(donating_session, inputs, 3, &output, 1), 0, "donation");
}

void wrong_indices(void) {
  const size_t index = pick(2) ? SIZE_MAX : 2 + pick(1000);
  tailor_tensor_info info;
  tailor_symbol_info symbol;
  tailor_launch_info launch;
  struct DLManagedTensor* taken;
  tailor_tensor_info_init(&info);
  tailor_symbol_info_init(&symbol);
  tailor_launch_info_init(&launch);
  must_code(tailor_executable_input(plain, index, &info), TAILOR_OUT_OF_RANGE, "input");
  must_code(tailor_executable_output(plain, index, &info), TAILOR_OUT_OF_RANGE, "output");
  must_code(tailor_executable_symbol(plain, index, &symbol), TAILOR_OUT_OF_RANGE, "symbol");
  must_code(tailor_executable_launch(plain, index, &launch), TAILOR_OUT_OF_RANGE, "launch");
  must_code(tailor_session_take_output(session, index, NULL, &taken), 0, "take_output");
}

void wrong_options(void) {
  tailor_session_options session_options;
  tailor_runtime_options runtime_options;
  tailor_compile_options compile_options;
  const char* targets[2] = {"x86-64-v9", NULL};
  tailor_session* made;
  tailor_runtime* created;
  tailor_executable* executable;
  tailor_session_options_init(&session_options);
  tailor_runtime_options_init(&runtime_options);
  tailor_compile_options_init(&compile_options);
  session_options.timeout_ns = -1;
  must(tailor_session_create(plain, &session_options, &made), "negative timeout");
  session_options.timeout_ns = 0;
  session_options.threads = UINT64_MAX - pick(3);
  must_code(tailor_session_create(plain, &session_options, &made), 0, "too many threads");
  must(tailor_session_set_timeout(session, number() | INT64_MIN), "set_timeout");
  runtime_options.pooled_sessions = 4097;
  must(tailor_runtime_create(&runtime_options, &created), "pooled_sessions");
  compile_options.donated = targets;
  compile_options.donated_count = 1 + pick(2);
  must_code(tailor_graph_compile(graphs[0], NULL, &compile_options, &executable), 0, "donated");
  compile_options.donated_count = 0;
  compile_options.targets = targets;
  compile_options.target_count = 1 + pick(2);
  must_code(tailor_graph_compile(graphs[0], NULL, &compile_options, &executable), 0, "targets");
}

void wrong_files(void) {
  static unsigned char garbage[4096];
  const uint8_t key[32] = {1};
  tailor_load_options load;
  tailor_executable* executable;
  size_t i, size = pick(sizeof(garbage));
  tailor_load_options_init(&load);
  for (i = 0; i < size; ++i) garbage[i] = (unsigned char)pick(256);
  must_code(tailor_executable_load(NULL, "no/such.tlr", SIZE_MAX, NULL, &executable), TAILOR_NOT_FOUND, "load");
  must_code(tailor_executable_load(NULL, "/", 1, NULL, &executable), 0, "load of a folder");
  must_code(tailor_executable_save(plain, pick(2) ? "/" : "no/such/folder/x.tlr", SIZE_MAX), 0, "save");
  load.public_key = pick(2) ? key : NULL;
  must_code(tailor_executable_load_memory(NULL, garbage, size, &load, NULL, NULL, &executable), 0, "garbage");
  load.device = 5;
  must_code(tailor_executable_load_memory(NULL, garbage, size, &load, NULL, NULL, &executable), 0, "device");
}

static int32_t refuse(void* user, const tailor_custom_call* call) {
  (void)call;
  return *(int32_t*)user;
}
static void count_release(void* user) { ++*(int32_t*)user; }

void wrong_operators(void) {
  static const char* const names_of_operators[] = {"", "tailor.mine", "mine", "\xff"};
  const unsigned which = pick(6);
  int32_t released = 0;
  tailor_custom_operator op;
  tailor_custom_operator_init(&op);
  op.name = names_of_operators[which < 4 ? which : 2];
  op.name_size = SIZE_MAX;
  op.function = which == 4 ? NULL : refuse;
  op.device = which == 5 ? 9 : TAILOR_DEVICE_CPU;
  op.user = &released;
  op.released = count_release;
  if (which == 2) {
    static int32_t unused;
    op.user = &unused;
    may(tailor_runtime_register(runtime, &op), "register");
    must(tailor_runtime_register(runtime, &op), "register twice");
    return;
  }
  must(tailor_runtime_register(runtime, &op), "register");
  if (released != 1) fail("register", "released was not called once");
}
