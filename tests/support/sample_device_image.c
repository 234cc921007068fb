/* The host code of the sample device program (sample_device_program.h), written as the compiler's are: all memory
 * except dims and the shape cache is the device's, and all work on it goes through the table. */
#include <stddef.h>
#include <stdint.h>

typedef struct {
  void* data;
  int64_t* dims;
} TensorArg;

typedef struct {
  int64_t blocks, shared_bytes, together;
} LaunchGrid;

typedef struct {
  uint64_t struct_size;
  const void* const* constants;
  uint8_t* workspace;
  uint64_t workspace_bytes;
  int64_t* memo;
  int64_t workers;
  uint64_t streamed_bytes;
  const void* costs;
  void* grid_sync;
  int64_t interrupt;
} RtContext;

typedef struct {
  uint64_t struct_size;
  int32_t (*grow)(RtContext* context, int32_t device, uint64_t bytes);
  int32_t (*output)(RtContext* context, int32_t index, TensorArg* out, uint64_t bytes);
  void (*parallel_for)(void);
  int32_t (*fail)(RtContext* context, int32_t check, int64_t lhs, int64_t rhs);
  int32_t (*launch)(RtContext* context, int32_t device, int32_t kernel, const int64_t* args, const LaunchGrid* grid);
  int32_t (*readback)(RtContext* context, int32_t device, void* to, const void* from, uint64_t bytes);
  void (*block)(void);
  void (*offer)(void);
  void (*gemm)(void);
  void (*custom)(void);
  void (*custom_workspace)(void);
  int32_t (*poll)(RtContext* context, int32_t launch);
} RtApi;

typedef struct {
  uint64_t struct_size;
  uint64_t workspace_bytes;
  int32_t* versions;
} PlanResult;

int32_t sample_run(const RtApi* api, RtContext* context, const TensorArg* in, TensorArg* out);
int32_t sample_plan(const RtApi* api, RtContext* context, const TensorArg* in, TensorArg* out, PlanResult* plan);

/* The image begins with the offsets of its entry points. */
__asm__(
    ".section .entry, \"a\"\n"
    "entry: .quad sample_run - entry, sample_plan - entry\n"
    ".text\n");

enum { kCheckColumns, kCheckMask, kCheckRange, kCheckNegative, kCheckFirst, kMaxRows = 1 << 20, kThreads = 32 };
enum { kSumRows, kNegate, kCopySums };
enum { kFaultWord = 2 };

static int32_t check_shapes(const RtApi* api, RtContext* context, const TensorArg* in) {
  const int64_t rows = in[0].dims[0];
  if (in[0].dims[1] != 4) return api->fail(context, kCheckColumns, in[0].dims[1], 0);
  if (in[1].dims[0] != rows) return api->fail(context, kCheckMask, in[1].dims[0], rows);
  if (rows > kMaxRows) return api->fail(context, kCheckRange, rows, 0);
  return 0;
}

static void set_output_dims(int64_t rows, TensorArg* out) {
  out[0].dims[0] = rows;
  out[0].dims[1] = 4;
  out[1].dims[0] = rows;
}

static int32_t launch(const RtApi* api, RtContext* context, int32_t kernel, const int64_t* args, int64_t tasks,
                      int64_t together) {
  const LaunchGrid grid = {(tasks + kThreads - 1) / kThreads, 0, together};
  const int32_t bad = api->launch(context, 1, kernel, args, &grid);
  if (bad) return bad;
  return __atomic_load_n(&context->interrupt, __ATOMIC_RELAXED) ? api->poll(context, kernel) : 0;
}

/* Reads the first sum back, which decides whether the run goes on. */
static int32_t check_first(const RtApi* api, RtContext* context, const void* sums) {
  float first = 0;
  const int32_t bad = api->readback(context, 1, &first, sums, sizeof(first));
  if (bad) return bad;
  return first > 1000 ? api->fail(context, kCheckFirst, (int64_t)first, 0) : 0;
}

/* memo: valid, rows, fault record. Sums go to the workspace, and a kernel copies them to `total` from there. Where the
 * number of rows is a multiple of 7 all blocks that sum run at once, where it is 13 the first sum is looked at, and
 * where it is 17 the workspace is larger than any device. */
int32_t sample_run(const RtApi* api, RtContext* context, const TensorArg* in, TensorArg* out) {
  const int64_t rows = in[0].dims[0];
  const uint64_t bytes = rows == 17 ? UINT64_C(1) << 44 : (uint64_t)rows * 4;
  int32_t bad;
  if (!(context->memo[0] && context->memo[1] == rows && in[0].dims[1] == 4 && in[1].dims[0] == rows)) {
    if ((bad = check_shapes(api, context, in))) return bad;
    context->memo[1] = rows;
    context->memo[0] = 1;
    if (context->workspace_bytes < bytes && (bad = api->grow(context, 1, bytes))) return bad;
  }
  set_output_dims(rows, out);
  if (!out[0].data && (bad = api->output(context, 0, out, 4 * bytes))) return bad;
  if (!out[1].data && (bad = api->output(context, 1, out, (uint64_t)rows * 4))) return bad;
  if (rows == 0) return 0;
  const int64_t sum_args[] = {(int64_t)in[0].data, (int64_t)in[1].data, (int64_t)context->workspace, rows,
                              (int64_t)(context->memo + kFaultWord)};
  if ((bad = launch(api, context, kSumRows, sum_args, rows, rows % 7 == 0))) return bad;
  if (rows == 13 && (bad = check_first(api, context, context->workspace))) return bad;
  const int64_t negate_args[] = {(int64_t)in[0].data, (int64_t)context->constants[0], (int64_t)out[0].data, 4 * rows};
  if ((bad = launch(api, context, kNegate, negate_args, 4 * rows, 0))) return bad;
  const int64_t copy_args[] = {(int64_t)context->workspace, (int64_t)out[1].data, rows};
  return launch(api, context, kCopySums, copy_args, rows, 0);
}

int32_t sample_plan(const RtApi* api, RtContext* context, const TensorArg* in, TensorArg* out, PlanResult* plan) {
  const int32_t bad = check_shapes(api, context, in);
  if (bad) return bad;
  set_output_dims(in[0].dims[0], out);
  plan->workspace_bytes = (uint64_t)in[0].dims[0] * 4;
  return 0;
}
