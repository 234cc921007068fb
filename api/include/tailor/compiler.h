/* Tailor compiler: build a graph over symbolic shapes and compile it once. C99; libtailor.so, which needs
 * libtailor_runtime.so. Conventions: see the head of tailor/runtime.h. */
#ifndef TAILOR_COMPILER_H_
#define TAILOR_COMPILER_H_

#include "tailor/runtime.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- Graph: one writer at a time -------------------------------------------------------------
 *
 * Functions that take a `const tailor_graph*` read it, all others change it: tailor_graph_value_type and the text
 * functions too, which keep in the graph what they give. Any number of calls read a graph at once. A call that would
 * change it meanwhile, and one that would read it while another changes it, is FAILED_PRECONDITION and changes nothing.
 * tailor_graph_output_count may be called at any time. */

typedef struct tailor_graph tailor_graph;

/* A value of one graph (graph serial << 32 | index + 1); 0 is no value. A value of another graph is refused. */
typedef uint64_t tailor_value;
/* A dim of one graph: a dim size that may be an expression over symbols; 0 is no dim. */
typedef uint64_t tailor_dim;

/* `name` appears in messages and artifacts. */
TAILOR_API tailor_status* tailor_graph_create(const char* name, size_t name_size, tailor_graph** out);
/* A graph from its canonical text (tailor_graph_text). Constants whose bytes the text leaves out are zeros, which does
 * for bug reports and measurements. Errors: INVALID_ARGUMENT "line L, column C: ...". */
TAILOR_API tailor_status* tailor_graph_parse(const char* text, size_t text_size, tailor_graph** out);

typedef struct tailor_parse_options {
  uint64_t struct_size;
  /* Writes the bytes of a constant that the text leaves out, dense row-major, into `data`: `size` bytes, all zero,
   * aligned to 64. Called on the calling thread, once for each such constant, in the order of the text. Nonzero: there
   * are no such bytes, and parsing fails. It must not unwind. NULL: zeros, as tailor_graph_parse gives. */
  int32_t (*constant)(void* user, const char* name, size_t name_size, int32_t dtype, const int64_t* dims, size_t rank,
                      void* data, size_t size);
  void* user;
  /* Nonzero: bytes of `constant` may have another hash than the text gives. */
  int32_t ignore_hashes;
} tailor_parse_options;

static inline void tailor_parse_options_init(tailor_parse_options* options) {
  memset(options, 0, sizeof(*options));
  options->struct_size = sizeof(*options);
}
/* tailor_graph_parse with bytes for its constants. Errors: those of tailor_graph_parse; INVALID_ARGUMENT naming the
 * constant that has no bytes, or bytes of another hash than the text gives. */
TAILOR_API tailor_status* tailor_graph_parse_with(const char* text, size_t text_size,
                                                  const tailor_parse_options* options, tailor_graph** out);
TAILOR_API void tailor_graph_release(tailor_graph* graph);

typedef struct tailor_symbol_options {
  uint64_t struct_size;
  int64_t min;           /* >= 0 */
  int64_t max;           /* >= min; default 2^31 - 1 */
  int64_t multiple_of;   /* >= 1 */
  const int64_t* likely; /* values to specialise for; results never depend on them */
  size_t likely_count;
} tailor_symbol_options;

static inline void tailor_symbol_options_init(tailor_symbol_options* options) {
  memset(options, 0, sizeof(*options));
  options->struct_size = sizeof(*options);
  options->max = INT32_MAX;
  options->multiple_of = 1;
}
/* Declares a symbol. Every run checks its range. Errors: INVALID_ARGUMENT for a repeated name, a range without a
 * multiple of `multiple_of`, or a likely value that is outside of the range or no such multiple. */
TAILOR_API tailor_status* tailor_graph_symbol(tailor_graph* graph, const char* name, size_t name_size,
                                              const tailor_symbol_options* options, tailor_dim* out);
/* A constant; it may be negative where it is a term of others. */
TAILOR_API tailor_status* tailor_graph_dim(tailor_graph* graph, int64_t dim_size, tailor_dim* out);

/* Dim arithmetic. floordiv and mod round towards minus infinity; the divisor is checked to be > 0. */
TAILOR_API tailor_status* tailor_dim_add(tailor_graph* graph, tailor_dim lhs, tailor_dim rhs, tailor_dim* out);
TAILOR_API tailor_status* tailor_dim_sub(tailor_graph* graph, tailor_dim lhs, tailor_dim rhs, tailor_dim* out);
TAILOR_API tailor_status* tailor_dim_mul(tailor_graph* graph, tailor_dim lhs, tailor_dim rhs, tailor_dim* out);
TAILOR_API tailor_status* tailor_dim_floordiv(tailor_graph* graph, tailor_dim lhs, tailor_dim rhs, tailor_dim* out);
TAILOR_API tailor_status* tailor_dim_mod(tailor_graph* graph, tailor_dim lhs, tailor_dim rhs, tailor_dim* out);
TAILOR_API tailor_status* tailor_dim_min(tailor_graph* graph, tailor_dim lhs, tailor_dim rhs, tailor_dim* out);
TAILOR_API tailor_status* tailor_dim_max(tailor_graph* graph, tailor_dim lhs, tailor_dim rhs, tailor_dim* out);
/* The same over the operations above: ceildiv rounds towards plus infinity, truncdiv towards 0 (as C and ONNX do);
 * truncmod is the remainder of truncdiv and has the sign of lhs. The divisor is checked to be > 0. */
TAILOR_API tailor_status* tailor_dim_ceildiv(tailor_graph* graph, tailor_dim lhs, tailor_dim rhs, tailor_dim* out);
TAILOR_API tailor_status* tailor_dim_truncdiv(tailor_graph* graph, tailor_dim lhs, tailor_dim rhs, tailor_dim* out);
TAILOR_API tailor_status* tailor_dim_truncmod(tailor_graph* graph, tailor_dim lhs, tailor_dim rhs, tailor_dim* out);
/* Comparisons: 1 where lhs < rhs, or where the two are equal, else 0. */
TAILOR_API tailor_status* tailor_dim_less(tailor_graph* graph, tailor_dim lhs, tailor_dim rhs, tailor_dim* out);
TAILOR_API tailor_status* tailor_dim_equal(tailor_graph* graph, tailor_dim lhs, tailor_dim rhs, tailor_dim* out);
/* lhs where `condition` is 1, rhs where it is 0: rhs + condition * (lhs - rhs). The condition is a comparison or a
 * product of comparisons; other values are not refused. */
TAILOR_API tailor_status* tailor_dim_select(tailor_graph* graph, tailor_dim condition, tailor_dim lhs, tailor_dim rhs,
                                            tailor_dim* out);
/* States that two dims are equal. Compilation uses it; every run checks it. */
TAILOR_API tailor_status* tailor_graph_assume_equal(tailor_graph* graph, tailor_dim lhs, tailor_dim rhs);
/* States that lhs >= rhs. Compilation uses it; every run checks it. `what` (`size` bytes, copied; may be empty) names
 * in messages what demands it: "`what`: height + 2 is 2, but must be at least 3". Errors, here and above:
 * INVALID_ARGUMENT for a foreign dim, and for two constants that contradict the statement. */
TAILOR_API tailor_status* tailor_graph_assume_at_least(tailor_graph* graph, tailor_dim lhs, tailor_dim rhs,
                                                       const char* what, size_t size);

/* Appends an input; runs take inputs in the order of these calls. Errors: INVALID_ARGUMENT for an empty or repeated
 * name, an unknown dtype, a foreign dim, or more than TAILOR_MAX_RANK of them. */
TAILOR_API tailor_status* tailor_graph_input(tailor_graph* graph, const char* name, size_t name_size, int32_t dtype,
                                             const tailor_dim* dims, size_t rank, tailor_value* out);
/* Makes `value` an output; runs give outputs in the order of these calls. One value may be several outputs, and an
 * input may be one. Errors: INVALID_ARGUMENT for an empty or repeated name, or a foreign value. */
TAILOR_API tailor_status* tailor_graph_output(tailor_graph* graph, const char* name, size_t name_size,
                                              tailor_value value);

/* The number of outputs so far; 0 for NULL. */
TAILOR_API size_t tailor_graph_output_count(const tailor_graph* graph);

/* A constant of `size` bytes, dense row-major, aligned to its element type; its name may be empty. With `released` NULL
 * the bytes are copied before this returns; else they are borrowed and `released(user)` is called once, when the graph
 * and every compilation of it are gone (also when this call fails). */
TAILOR_API tailor_status* tailor_graph_constant(tailor_graph* graph, const char* name, size_t name_size, int32_t dtype,
                                                const int64_t* dims, size_t rank, const void* data, size_t size,
                                                void (*released)(void* user), void* user, tailor_value* out);
/* A rank-0 constant, rounded to `dtype`. */
TAILOR_API tailor_status* tailor_graph_scalar(tailor_graph* graph, int32_t dtype, double value, tailor_value* out);

/* Names a value's node, for messages, dumps and traces. An input keeps its own. */
TAILOR_API tailor_status* tailor_graph_set_name(tailor_graph* graph, tailor_value value, const char* name,
                                                size_t name_size);

/* What the graph knows of a value. `dims` has room for TAILOR_MAX_RANK entries; each out pointer may be NULL. */
TAILOR_API tailor_status* tailor_graph_value_type(tailor_graph* graph, tailor_value value, int32_t* dtype,
                                                  int32_t* rank, tailor_dim* dims);

/* Canonical text of the graph, or of a dim. Borrowed from the graph until its next text call. */
TAILOR_API tailor_status* tailor_graph_text(tailor_graph* graph, const char** text);
TAILOR_API tailor_status* tailor_dim_text(tailor_graph* graph, tailor_dim dim, const char** text);
/* The shape facts as text: symbols, ranges, equalities and where each came from, compiled checks. */
TAILOR_API tailor_status* tailor_graph_facts_text(tailor_graph* graph, const char** text);

/* ---- Compound operations: append primitives --------------------------------------------------
 *
 * Operands have one element type, which is the result's: where nothing else is said f16, bf16 (both accumulate in f32),
 * f32 or f64. Softmax, its logarithm, layer norm and l2_normalize of f16 or bf16 compute in f32 and round their result
 * once; so does attention's softmax, whose scores are rounded as a product's result is. A negative axis counts from the
 * end. Errors are those of the primitives: INVALID_ARGUMENT naming op and operand; `*out` and the graph are then what
 * they were. */

/* e^x / sum(e^x) along `axis`, and its logarithm. */
TAILOR_API tailor_status* tailor_graph_softmax(tailor_graph* graph, tailor_value x, int64_t axis, tailor_value* out);
TAILOR_API tailor_status* tailor_graph_log_softmax(tailor_graph* graph, tailor_value x, int64_t axis,
                                                   tailor_value* out);
/* (x - mean) / sqrt(variance + epsilon) * scale + bias over the last axis. `scale` and `bias` have its
 * shape, [C]; 0 for none. */
TAILOR_API tailor_status* tailor_graph_layer_norm(tailor_graph* graph, tailor_value x, tailor_value scale,
                                                  tailor_value bias, double epsilon, tailor_value* out);
/* x / 2 * (1 + erf(x / sqrt(2))), and its approximation x / 2 * (1 + tanh(sqrt(2 / pi) * (x + 0.044715 x^3))): NaN for
 * -inf, which is multiplied by zero. */
TAILOR_API tailor_status* tailor_graph_gelu(tailor_graph* graph, tailor_value x, tailor_value* out);
TAILOR_API tailor_status* tailor_graph_gelu_tanh(tailor_graph* graph, tailor_value x, tailor_value* out);
/* x / max(||x||, epsilon) along `axis`. */
TAILOR_API tailor_status* tailor_graph_l2_normalize(tailor_graph* graph, tailor_value x, int64_t axis, double epsilon,
                                                    tailor_value* out);
/* softmax(query key^T * scale + mask) value.
 * Shapes: query [B..., M, D], key [B..., N, D], value [B..., N, E] -> [B..., M, E]; mask (0: none) broadcasts to
 *         [B..., M, N]. scale 0 means 1/sqrt(D); D must then be constant. */
TAILOR_API tailor_status* tailor_graph_attention(tailor_graph* graph, tailor_value query, tailor_value key,
                                                 tailor_value value, tailor_value mask, double scale,
                                                 tailor_value* out);

/* How windows lie over the spatial dims of x [N, C, D...]: those after the second. Each array has `rank` entries, one a
 * spatial dim, or is NULL: strides and dilations 1, no padding. */
typedef struct tailor_spatial_options {
  uint64_t struct_size;
  size_t rank;
  const int64_t* strides;
  const int64_t* dilations;
  const tailor_dim* low;  /* elements of padding before the first, negative ones crop */
  const tailor_dim* high; /* and after the last */
} tailor_spatial_options;
static inline void tailor_spatial_options_init(tailor_spatial_options* options) {
  memset(options, 0, sizeof(*options));
  options->struct_size = sizeof(*options);
}

/* out[n, m, o...] = bias[m] + sum over c, k... of x[n, g C / groups + c, o * stride + k * dilation - low, ...] *
 * weights[m, c, k...], g being the group of m, x 0 outside. Those zeros are multiplied: times a weight that is infinite
 * or NaN they give NaN, for windows of any size, 1 x 1 too. Padded 1 x 1 convolutions are faster with finite constant
 * weights. Shapes: x [N, C, D...], weights [M, C / groups, K...], bias [M] (0: none) -> [N, M, O...] with O =
 * max(floordiv(low + D + high - (K - 1) * dilation - 1, stride) + 1, 0). Types:  f16, bf16, f32 or f64, all alike. */
TAILOR_API tailor_status* tailor_graph_conv(tailor_graph* graph, tailor_value x, tailor_value weights,
                                            tailor_value bias, int64_t groups, const tailor_spatial_options* options,
                                            tailor_value* out);
/* The largest element of each window of `sizes`, one a spatial dim: [N, C, D...] -> [N, C, O...], O as for conv.
 * Padding is below every element. */
TAILOR_API tailor_status* tailor_graph_max_pool(tailor_graph* graph, tailor_value x, const tailor_dim* sizes,
                                                size_t size_count, const tailor_spatial_options* options,
                                                tailor_value* out);
/* The mean of each window: of the elements of x in it, or with `count_include_pad` 1 of its padding, zeros, too. */
TAILOR_API tailor_status* tailor_graph_average_pool(tailor_graph* graph, tailor_value x, const tailor_dim* sizes,
                                                    size_t size_count, int32_t count_include_pad,
                                                    const tailor_spatial_options* options, tailor_value* out);

/* Options of recurrent layers. Values may be 0: none. */
typedef struct tailor_recurrence_options {
  uint64_t struct_size;
  tailor_value bias;           /* [G * H], added to x w^T; none: zeros */
  tailor_value recurrent_bias; /* [G * H], added to h r^T; none: zeros */
  tailor_value initial_h;      /* [B, H]; none: zeros */
  tailor_value initial_c;      /* the same, lstm */
  tailor_value lengths;        /* i32 or i64 [B]: step t of entry b counts if t < lengths[b]; none: all do */
  tailor_value peepholes;      /* lstm: [3 * H], weights of c in the gates i, o, f; none: zeros */
  int32_t reverse;             /* 1: from the last step to the first */
  int32_t linear_before_reset; /* 1: the reset gate of a gru multiplies h r_n^T, not h */
  int32_t input_forget;        /* 1: the forget gate of an lstm is 1 - i */
  int32_t reserved;            /* 0 */
  double clip;                 /* functions of the gates get arguments within [-clip, clip]; 0: any */
  /* Names of the functions f, g, k below, as many as the layer has; none: sigmoid and tanh as stated there.
   * With a = alphas[i] and b = betas[i], or where an array is NULL or its entry NaN the values in parentheses:
   * "sigmoid", "tanh", "relu", "softsign" x / (1 + |x|), "softplus" log(1 + e^x), "affine" a x + b (1, 0),
   * "scaled_tanh" a tanh(b x) (1, 1), "hard_sigmoid" max(0, min(1, a x + b)) (0.2, 0.5), "leaky_relu" x < 0 ? a x : x
   * (0.01), "thresholded_relu" x > a ? x : 0 (1), "elu" x < 0 ? a (e^x - 1) : x (1). */
  const char* const* activations;
  const double* alphas;
  const double* betas;
  size_t activation_count;
} tailor_recurrence_options;
static inline void tailor_recurrence_options_init(tailor_recurrence_options* options) {
  memset(options, 0, sizeof(*options));
  options->struct_size = sizeof(*options);
}

/* Layers whose state h goes from step to step of a sequence: one product for the inputs of all steps, then a loop.
 * A step that does not count keeps the state and gives 0.
 *   rnn:  h' = f(x w^T + h r^T); f is tanh.
 *   gru:  gates z, r, n in this order: h' = (1 - z) n + z h, z and r being f(x w^T + h r^T) and n either
 *         g(x w_n^T + (r h) r_n^T) or g(x w_n^T + r (h r_n^T)); f and g are sigmoid and tanh.
 *   lstm: gates i, o, f, n in this order: c' = f c + i n, h' = o k(c'), i, o and f being
 *         f(x w^T + h r^T + p c), where o sees c', and n g(x w_n^T + h r_n^T); f, g and k are sigmoid, tanh, tanh.
 * Shapes: x [T, B, I], w [G * H, I], r [G * H, H], G blocks of rows, one a gate -> y [T, B, H], the state after
 *         each step; h and c [B, H], after the last. */
TAILOR_API tailor_status* tailor_graph_rnn(tailor_graph* graph, tailor_value x, tailor_value w, tailor_value r,
                                           const tailor_recurrence_options* options, tailor_value* y, tailor_value* h);
TAILOR_API tailor_status* tailor_graph_gru(tailor_graph* graph, tailor_value x, tailor_value w, tailor_value r,
                                           const tailor_recurrence_options* options, tailor_value* y, tailor_value* h);
TAILOR_API tailor_status* tailor_graph_lstm(tailor_graph* graph, tailor_value x, tailor_value w, tailor_value r,
                                            const tailor_recurrence_options* options, tailor_value* y, tailor_value* h,
                                            tailor_value* c);

/* The elements along `axis` in ascending order, or with `descending` 1 the other way, and the index along it that each
 * had (i64); both have x's shape. Of any type. NaN is above all numbers, -0 equals 0, and equal elements stay in the
 * order of their indices. Takes about log2(n)^2 / 2 passes over the n elements. */
TAILOR_API tailor_status* tailor_graph_sort(tailor_graph* graph, tailor_value x, int64_t axis, int32_t descending,
                                            tailor_value* values, tailor_value* indices);
/* The k first in descending order (`largest` 1) or in ascending order (0): [..., k, ...]. Runs check that there are k.
 */
TAILOR_API tailor_status* tailor_graph_top_k(tailor_graph* graph, tailor_value x, tailor_dim k, int64_t axis,
                                             int32_t largest, tailor_value* values, tailor_value* indices);

/* The rows of x [N, ...], of any type, that mask bool[N] keeps, in order: [M, ...], where M is a new symbol that the
 * run binds to their number. */
TAILOR_API tailor_status* tailor_graph_compact(tailor_graph* graph, tailor_value x, tailor_value mask,
                                               tailor_value* out);
/* The indices of the elements of x, of any type, that are not 0, in row-major order: i64[rank, M], M a new symbol. */
TAILOR_API tailor_status* tailor_graph_nonzero(tailor_graph* graph, tailor_value x, tailor_value* out);
/* The elements of x, or its slices along `*axis` (NULL: elements), without repeats: U of them, a new symbol. NaN equals
 * NaN. In ascending order, slices compared element by element, with `sorted` 1, else in the order in which they occur.
 * Results: `values` [U], or x's shape with U for N along the axis; `indices` i64[U], where each occurs first; `inverse`
 *          i64[N], the place among them of each element or slice of x; `counts` i64[U], how often each occurs. */
TAILOR_API tailor_status* tailor_graph_unique(tailor_graph* graph, tailor_value x, const int64_t* axis, int32_t sorted,
                                              tailor_value* values, tailor_value* indices, tailor_value* inverse,
                                              tailor_value* counts);

/* ---- Loops and branches ----------------------------------------------------------------------
 *
 * A region is a graph of its own: its inputs take values of the graph around it, its outputs are what it returns. It
 * sees nothing else, and has symbols of its own, which are bound from the dim sizes that it gets: f32[N] takes any
 * vector. The region is copied, so its graph may be released.
 *
 * `shapes` lists the dim sizes of all results, one after the other; -1, or NULL with a count of 0, infers. It is needed
 * where a dim size is known only when the operation has run: such a dim size is a symbol that nothing before uses.
 * Whatever depends on it runs afterwards, with memory that grows during the run. */

/* Runs `body` (values -> values) on the values as long as `condition` (values -> bool[]) of them is true. A value that
 * the body returns as it got it costs nothing to carry; one that it returns as its scatter of updates is updated in
 * place.
 * Results:  as many as values, of their types; dim sizes that the body changes are in `shapes`.
 * Errors:   INVALID_ARGUMENT naming region, argument and types that do not match. */
TAILOR_API tailor_status* tailor_graph_while(tailor_graph* graph, const tailor_value* values, size_t count,
                                             const tailor_graph* condition, const tailor_graph* body,
                                             const tailor_dim* shapes, size_t shape_count, tailor_value* results);
/* Runs one of two branches (values -> results): `then_branch` where `condition`, a bool[], is true.
 * Results:  `result_count`, as many as each branch returns and of the same element types and ranks. */
TAILOR_API tailor_status* tailor_graph_if(tailor_graph* graph, tailor_value condition, const tailor_value* values,
                                          size_t count, const tailor_graph* then_branch,
                                          const tailor_graph* else_branch, const tailor_dim* shapes, size_t shape_count,
                                          tailor_value* results, size_t result_count);

/* ---- Compile --------------------------------------------------------------------------------- */

typedef struct tailor_compile_options {
  uint64_t struct_size;
  /* CPU targets, best wins at load: "x86-64-v2", "x86-64-v3", "x86-64-v4", each also with more features
   * ("x86-64-v4+avx512bf16"); "host" is the best level that this machine runs. Default (count 0): the three levels,
   * and for products in bf16 "x86-64-v4+avx512bf16" and "x86-64-v4+avx512bf16+amx-tile+amx-bf16". Without such products
   * the last two are "x86-64-v4". */
  const char* const* targets;
  size_t target_count;
  /* Called on the caller's thread with the phase and the share done (0..1); 0 cancels, which gives CANCELLED. Phases:
   * "analyse", "rewrite", "fuse" and "lower", with the pass ("fuse stitch"), before each pass over the graph
   * or region; "pack", after each MiB of constants; "emit", after each module and image; "done". */
  int32_t (*progress)(void* user, const char* phase, double done);
  void* progress_user;
  uint64_t threads;          /* to compile with; 0: as many as there are cores */
  const uint8_t* secret_key; /* 64 bytes Ed25519: sign the artifact; or NULL */
  /* Bounds on code, at least 1 each. A kernel has at most max_versions versions; and where the code of a target is
   * above max_code_bytes, kernels keep one version, those first whose others are largest. tailor_executable_describe
   * lists what was left out. RESOURCE_EXHAUSTED where that does not do. */
  uint64_t max_versions;   /* default 8 */
  uint64_t max_code_bytes; /* default 64 MiB */
  /* Names of inputs that are donated: runs may write their memory. An output that can be computed over one of them is
   * written there, which tailor_executable_output tells, and so may be what lies between. */
  const char* const* donated;
  size_t donated_count;
  int32_t device;         /* of tailor_graph_compile, as in tailor_load_options: what the executable runs on */
  int32_t device_ordinal; /* which of the CUDA devices */
  int32_t offer_products; /* 1: a runtime's product provider, or on GPUs cuBLASLt, may compute plain products */
  /* 1: convolutions are sums of products of their own elements. 0: where no GPU is a target, which would need the
   * weights as they are too, those with constant f32 weights, 16 channels or more on both sides, 3 x 3 windows and no
   * strides or dilations are by Winograd's F(2x2, 3x3): sums of 4 x 4 elements, and of the weights, are rounded before
   * they are multiplied, the artifact has 16/9 of the weights' bytes, and where a window has an infinity its result is
   * NaN (docs/decisions/convolutions-are-windows.md). */
  int32_t direct_convolutions;
  /* 1: on GPUs, factors of products in f32 are rounded to tf32, 10 bits of mantissa, where tensor cores then multiply
   * them: each result is within 2^-10 of the sum of |lhs * rhs| (docs/gpu.md). 0: they are f32. */
  int64_t allow_tf32;
  /* Bytes of memory that compiling may take, at least, beyond the graph's own constants; 0: no limit. Fewer threads are
   * used where that keeps within it. RESOURCE_EXHAUSTED with the estimate, before LLVM begins, where one is too much.
   * The estimate is above what models were measured to take (docs/hosts.md); no bound is certain but that of
   * `isolated`. */
  uint64_t memory_limit;
  /* 1: compile in a process of its own, tailor-compile-worker, which has a copy of the constants. Memory that runs out,
   * in the system or beyond memory_limit, which the system then holds exactly, is RESOURCE_EXHAUSTED; a crash inside
   * LLVM is INTERNAL; a progress function that refuses, which is then called at least every 20 ms, ends the compilation
   * at once. The bytes are the same. FAILED_PRECONDITION where the worker cannot be started. The host must not take the
   * end of processes that it did not start (waitpid(-1)). */
  int64_t isolated;
  /* The worker's path; NULL: ../libexec/tailor/tailor-compile-worker from the folder of libtailor.so. */
  const char* worker;
} tailor_compile_options;

static inline void tailor_compile_options_init(tailor_compile_options* options) {
  memset(options, 0, sizeof(*options));
  options->struct_size = sizeof(*options);
  options->max_versions = 8;
  options->max_code_bytes = (uint64_t)64 << 20;
}
/* Compiles for all shapes at once, and loads the result with `runtime` (NULL: the default). The graph may go on growing
 * afterwards and be compiled again; several threads may compile it at a time. Same graph and options give the same
 * bytes.
 * Errors:  INVALID_ARGUMENT naming an unsolvable symbol, contradictory dims or a bad option; FAILED_PRECONDITION for a
 *          graph without outputs, or one that another call changes; UNIMPLEMENTED naming the node and type that cannot
 *          be compiled.
 * Memory:  where an allocation inside LLVM fails, LLVM ends the process ("LLVM ERROR: out of memory"): no status. A
 *          host that must survive that sets `isolated`. */
TAILOR_API tailor_status* tailor_graph_compile(const tailor_graph* graph, const tailor_runtime* runtime,
                                               const tailor_compile_options* options, tailor_executable** out);

/* The same without loading, for other machines too: gives the artifact's bytes to `take`, once, during the call. */
TAILOR_API tailor_status* tailor_graph_compile_artifact(const tailor_graph* graph,
                                                        const tailor_compile_options* options,
                                                        void (*take)(void* user, const void* data, size_t size),
                                                        void* user);

/* LLVM modules emitted by this process. */
TAILOR_API uint64_t tailor_compiler_modules_emitted(void);

#include "tailor/ops.h" /* one function per primitive op, generated from the op table */

#ifdef __cplusplus
} /* extern "C" */
#endif

#endif /* TAILOR_COMPILER_H_ */
