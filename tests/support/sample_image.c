/* The machine code of the sample program (sample_program.h), written as the compiler's host programs are: entry
 * points that get everything as arguments, kernels with argument blocks, no globals, no library calls. */
#include <stddef.h>
#include <stdint.h>

typedef struct {
  void* data;
  int64_t* dims;
} TensorArg;

typedef void (*KernelFn)(const int64_t* args, int64_t begin, int64_t end, int64_t worker);

typedef struct {
  uint64_t struct_size;
  const void* const* constants;
  uint8_t* workspace;
  uint64_t workspace_bytes;
  int64_t* memo;
  int64_t workers;
} RtContext;

typedef struct {
  uint64_t struct_size;
  int32_t (*grow)(RtContext* context, int32_t device, uint64_t bytes);
  int32_t (*output)(RtContext* context, int32_t index, TensorArg* out, uint64_t bytes);
  void (*parallel_for)(RtContext* context, KernelFn kernel, const int64_t* args, int64_t count, int64_t grain);
  int32_t (*fail)(RtContext* context, int32_t check, int64_t lhs, int64_t rhs);
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

enum { kCheckColumns, kCheckMask, kCheckRange, kMaxRows = 1 << 20, kScratchBytes = 64 };

static int32_t check_shapes(const RtApi* api, RtContext* context, const TensorArg* in) {
  const int64_t rows = in[0].dims[0];
  if (rows > INT64_MAX / 64) return api->fail(context, -1, 0, 0);
  if (in[0].dims[1] != 4) return api->fail(context, kCheckColumns, in[0].dims[1], 0);
  if (in[1].dims[0] != rows) return api->fail(context, kCheckMask, in[1].dims[0], rows);
  if (rows > kMaxRows) return api->fail(context, kCheckRange, rows, 0);
  return 0;
}

static uint64_t sums_bytes(int64_t rows) { return ((uint64_t)rows * 4 + 63) / 64 * 64; }

static uint64_t workspace_bytes(const RtContext* context, int64_t rows) {
  return sums_bytes(rows) + (uint64_t)context->workers * kScratchBytes;
}

static void set_output_dims(int64_t rows, TensorArg* out) {
  out[0].dims[0] = rows;
  out[0].dims[1] = 4;
  out[1].dims[0] = rows;
}

/* args: x, mask, sums, scratch. Sums each row of x times its mask, by way of the worker's slice of scratch. */
static void sum_rows(const int64_t* args, int64_t begin, int64_t end, int64_t worker) {
  const float* x = (const float*)args[0];
  const float* mask = (const float*)args[1];
  float* sums = (float*)args[2];
  volatile float* slice = (volatile float*)(args[3] + worker * kScratchBytes);
  for (int64_t i = begin; i < end; ++i) {
    for (int j = 0; j < 4; ++j) slice[j] = x[4 * i + j] * mask[i];
    sums[i] = slice[0] + slice[1] + slice[2] + slice[3];
  }
}

/* args: x, scale, sums, y, totals. y = -x * scale; totals = sums. */
static void negate(const int64_t* args, int64_t begin, int64_t end, int64_t worker) {
  const float* x = (const float*)args[0];
  const float* scale = (const float*)args[1];
  const float* sums = (const float*)args[2];
  float* y = (float*)args[3];
  float* totals = (float*)args[4];
  (void)worker;
  for (int64_t i = begin; i < end; ++i) {
    for (int j = 0; j < 4; ++j) y[4 * i + j] = -x[4 * i + j] * scale[j];
    totals[i] = sums[i];
  }
}

/* memo: valid, rows. A hit skips checks and growing, as generated code does. */
int32_t sample_run(const RtApi* api, RtContext* context, const TensorArg* in, TensorArg* out) {
  const int64_t rows = in[0].dims[0];
  int32_t bad;
  if (!(context->memo[0] && context->memo[1] == rows && in[0].dims[1] == 4 && in[1].dims[0] == rows)) {
    if ((bad = check_shapes(api, context, in))) return bad;
    context->memo[1] = rows;
    context->memo[0] = 1;
    const uint64_t needed = workspace_bytes(context, rows);
    if (context->workspace_bytes < needed && (bad = api->grow(context, 0, needed))) return bad;
  }
  set_output_dims(rows, out);
  if (!out[0].data && (bad = api->output(context, 0, out, (uint64_t)rows * 16))) return bad;
  if (!out[1].data && (bad = api->output(context, 1, out, (uint64_t)rows * 4))) return bad;
  const int64_t sums = (int64_t)context->workspace;
  const int64_t sum_args[] = {(int64_t)in[0].data, (int64_t)in[1].data, sums, sums + (int64_t)sums_bytes(rows)};
  api->parallel_for(context, sum_rows, sum_args, rows, 16);
  const int64_t negate_args[] = {(int64_t)in[0].data, (int64_t)context->constants[0], sums, (int64_t)out[0].data,
                                 (int64_t)out[1].data};
  api->parallel_for(context, negate, negate_args, rows, 16);
  return 0;
}

int32_t sample_plan(const RtApi* api, RtContext* context, const TensorArg* in, TensorArg* out, PlanResult* plan) {
  const int32_t bad = check_shapes(api, context, in);
  if (bad) return bad;
  set_output_dims(in[0].dims[0], out);
  plan->workspace_bytes = workspace_bytes(context, in[0].dims[0]);
  return 0;
}
