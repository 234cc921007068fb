/* Tailor compiler: builds a graph over symbolic shapes and compiles it once for all shapes. C99; libtailor.so, which
 * needs libtailor_runtime.so. Conventions: see the head of tailor/runtime.h. */
#ifndef TAILOR_COMPILER_H_
#define TAILOR_COMPILER_H_

#include "tailor/runtime.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- Graph: one writer at a time -------------------------------------------------------------
 *
 * Functions with a `const tailor_graph*` parameter read the graph; all others write it, including
 * tailor_graph_value_type and the text functions, which store their results in the graph. Any number of calls may read
 * a graph at once. A write during another call, or a read during a write, is FAILED_PRECONDITION and changes nothing.
 * tailor_graph_output_count may be called at any time. */

typedef struct tailor_graph tailor_graph;

/* A value of one graph (graph serial << 32 | index + 1); 0 is no value. A value of another graph is rejected. */
typedef uint64_t tailor_value;
/* A dim size of one graph, possibly an expression over symbols; 0 is no dim. */
typedef uint64_t tailor_dim;

/* `name` appears in messages and artifacts. */
TAILOR_API tailor_status* tailor_graph_create(const char* name, size_t name_size, tailor_graph** out);
/* Parses a graph from its canonical text (tailor_graph_text). Constants whose bytes the text omits become zeros, which
 * is enough for bug reports and measurements. Errors: INVALID_ARGUMENT "line L, column C: ...". */
TAILOR_API tailor_status* tailor_graph_parse(const char* text, size_t text_size, tailor_graph** out);

typedef struct tailor_parse_options {
  uint64_t struct_size;
  /* Writes the bytes of a constant that the text omits, dense row-major, to `data`: `size` zeroed bytes, aligned to 64.
   * Called on the calling thread, once per such constant, in text order. Nonzero: the bytes are not available, and
   * parsing fails. Must not unwind. NULL: zeros, as for tailor_graph_parse. */
  int32_t (*constant)(void* user, const char* name, size_t name_size, int32_t dtype, const int64_t* dims, size_t rank,
                      void* data, size_t size);
  void* user;
  /* Nonzero: do not check the bytes of `constant` against the text's hash. */
  int32_t ignore_hashes;
} tailor_parse_options;

static inline void tailor_parse_options_init(tailor_parse_options* options) {
  memset(options, 0, sizeof(*options));
  options->struct_size = sizeof(*options);
}
/* tailor_graph_parse with bytes for constants. Errors: those of tailor_graph_parse; INVALID_ARGUMENT naming the
 * constant whose bytes are missing or do not match the text's hash. */
TAILOR_API tailor_status* tailor_graph_parse_with(const char* text, size_t text_size,
                                                  const tailor_parse_options* options, tailor_graph** out);
TAILOR_API void tailor_graph_release(tailor_graph* graph);

typedef struct tailor_symbol_options {
  uint64_t struct_size;
  int64_t min;         /* >= 0 */
  int64_t max;         /* >= min; default 2^31 - 1 */
  int64_t multiple_of; /* >= 1 */
  /* Values to specialise for: CPU kernels that reduce rows of such a length, of one to two vectors, have a version in
   * which it is a constant, and the memory plan fits these sizes. Results never depend on them. */
  const int64_t* likely;
  size_t likely_count;
} tailor_symbol_options;

static inline void tailor_symbol_options_init(tailor_symbol_options* options) {
  memset(options, 0, sizeof(*options));
  options->struct_size = sizeof(*options);
  options->max = INT32_MAX;
  options->multiple_of = 1;
}
/* Declares a symbol. Every run checks its range. Errors: INVALID_ARGUMENT for a repeated name, a range without a
 * multiple of `multiple_of`, or a likely value that is out of range or not such a multiple. */
TAILOR_API tailor_status* tailor_graph_symbol(tailor_graph* graph, const char* name, size_t name_size,
                                              const tailor_symbol_options* options, tailor_dim* out);
/* A constant dim; may be negative as a term of an expression. */
TAILOR_API tailor_status* tailor_graph_dim(tailor_graph* graph, int64_t dim_size, tailor_dim* out);

/* Dim arithmetic. floordiv and mod round towards minus infinity. Every run checks that the divisor is > 0. */
TAILOR_API tailor_status* tailor_dim_add(tailor_graph* graph, tailor_dim lhs, tailor_dim rhs, tailor_dim* out);
TAILOR_API tailor_status* tailor_dim_sub(tailor_graph* graph, tailor_dim lhs, tailor_dim rhs, tailor_dim* out);
TAILOR_API tailor_status* tailor_dim_mul(tailor_graph* graph, tailor_dim lhs, tailor_dim rhs, tailor_dim* out);
TAILOR_API tailor_status* tailor_dim_floordiv(tailor_graph* graph, tailor_dim lhs, tailor_dim rhs, tailor_dim* out);
TAILOR_API tailor_status* tailor_dim_mod(tailor_graph* graph, tailor_dim lhs, tailor_dim rhs, tailor_dim* out);
TAILOR_API tailor_status* tailor_dim_min(tailor_graph* graph, tailor_dim lhs, tailor_dim rhs, tailor_dim* out);
TAILOR_API tailor_status* tailor_dim_max(tailor_graph* graph, tailor_dim lhs, tailor_dim rhs, tailor_dim* out);
/* Further divisions, composed of the operations above. ceildiv rounds towards plus infinity, truncdiv towards 0 (as in
 * C and ONNX); truncmod is the remainder of truncdiv and has the sign of lhs. Every run checks that the divisor is >
 * 0. */
TAILOR_API tailor_status* tailor_dim_ceildiv(tailor_graph* graph, tailor_dim lhs, tailor_dim rhs, tailor_dim* out);
TAILOR_API tailor_status* tailor_dim_truncdiv(tailor_graph* graph, tailor_dim lhs, tailor_dim rhs, tailor_dim* out);
TAILOR_API tailor_status* tailor_dim_truncmod(tailor_graph* graph, tailor_dim lhs, tailor_dim rhs, tailor_dim* out);
/* Comparisons: 1 if lhs < rhs (less) or lhs == rhs (equal), else 0. */
TAILOR_API tailor_status* tailor_dim_less(tailor_graph* graph, tailor_dim lhs, tailor_dim rhs, tailor_dim* out);
TAILOR_API tailor_status* tailor_dim_equal(tailor_graph* graph, tailor_dim lhs, tailor_dim rhs, tailor_dim* out);
/* lhs where `condition` is 1, rhs where it is 0: rhs + condition * (lhs - rhs). `condition` must be a comparison or a
 * product of comparisons; other dims are not rejected. */
TAILOR_API tailor_status* tailor_dim_select(tailor_graph* graph, tailor_dim condition, tailor_dim lhs, tailor_dim rhs,
                                            tailor_dim* out);
/* Asserts that two dims are equal. Compilation uses it; every run checks it. */
TAILOR_API tailor_status* tailor_graph_assume_equal(tailor_graph* graph, tailor_dim lhs, tailor_dim rhs);
/* Asserts that lhs >= rhs. Compilation uses it; every run checks it. `what` (`size` bytes, copied; may be empty) names
 * the reason in messages: "`what`: height + 2 is 2, but must be at least 3". Errors, here and above: INVALID_ARGUMENT
 * for a foreign dim, and for two constants that contradict the assertion. */
TAILOR_API tailor_status* tailor_graph_assume_at_least(tailor_graph* graph, tailor_dim lhs, tailor_dim rhs,
                                                       const char* what, size_t size);

/* What is known of a dim in every run that the graph's checks accept: from declared ranges, dims of inputs (>= 0) and
 * assumptions. A proof is sound but not complete; compilation may know more. */

/* min <= dim <= max; min == max if the dim is provably one number. INT64_MIN and INT64_MAX: no bound. */
TAILOR_API tailor_status* tailor_dim_range(tailor_graph* graph, tailor_dim dim, int64_t* min, int64_t* max);
#define TAILOR_DIM_EQUAL 0
#define TAILOR_DIM_LESS 1
#define TAILOR_DIM_AT_MOST 2
/* `*result` is 1 if `lhs relation rhs` holds in every run, 0 if it holds in none, else -1: unknown, or different from
 * run to run. */
TAILOR_API tailor_status* tailor_dim_compare(tailor_graph* graph, tailor_dim lhs, tailor_dim rhs, int32_t relation,
                                             int32_t* result);

#define TAILOR_DIM_CONSTANT 0
#define TAILOR_DIM_SYMBOL 1
#define TAILOR_DIM_ADD 2
#define TAILOR_DIM_MUL 3
#define TAILOR_DIM_FLOORDIV 4
#define TAILOR_DIM_MOD 5
#define TAILOR_DIM_MIN 6
#define TAILOR_DIM_MAX 7
#define TAILOR_DIM_BCAST 8 /* lhs, or rhs where lhs is 1: numpy broadcasting of two dim sizes */

typedef struct tailor_dim_info {
  uint64_t struct_size;
  int32_t kind;        /* TAILOR_DIM_CONSTANT, ... */
  int32_t reserved;    /* 0 */
  int64_t constant;    /* of a constant */
  tailor_dim lhs, rhs; /* operands of the other kinds; 0 for constants and symbols */
  const char* name;    /* of a symbol, else NULL; borrowed from the graph until its next text call or description */
  int64_t min, max;    /* of a symbol, as declared */
  int64_t multiple_of; /* of a symbol, as declared */
} tailor_dim_info;
static inline void tailor_dim_info_init(tailor_dim_info* info) {
  memset(info, 0, sizeof(*info));
  info->struct_size = sizeof(*info);
}
/* The outermost operation of a dim. Dims are canonical: equal structure is the same handle. */
TAILOR_API tailor_status* tailor_dim_describe(tailor_graph* graph, tailor_dim dim, tailor_dim_info* out);
/* The distinct symbols in a dim. Writes at most `capacity` of them to `symbols`, and their number to `*count`. */
TAILOR_API tailor_status* tailor_dim_symbols(tailor_graph* graph, tailor_dim dim, tailor_dim* symbols, size_t capacity,
                                             size_t* count);
/* `dim` of graph `from`, with symbols[i] replaced by replacements[i], dims of graph `into`: a dim of `into`. For a
 * region, which has symbols of its own. Errors: INVALID_ARGUMENT naming a symbol without replacement. */
TAILOR_API tailor_status* tailor_dim_rewrite(tailor_graph* from, tailor_dim dim, tailor_graph* into,
                                             const tailor_dim* symbols, const tailor_dim* replacements, size_t count,
                                             tailor_dim* out);

/* Appends an input; runs take inputs in the order of these calls. Errors: INVALID_ARGUMENT for an empty or repeated
 * name, an unknown dtype, a foreign dim, or a rank above TAILOR_MAX_RANK. */
TAILOR_API tailor_status* tailor_graph_input(tailor_graph* graph, const char* name, size_t name_size, int32_t dtype,
                                             const tailor_dim* dims, size_t rank, tailor_value* out);
/* Makes `value` an output; runs give outputs in the order of these calls. One value may be several outputs, and an
 * input may be one. Errors: INVALID_ARGUMENT for an empty or repeated name, or a foreign value. */
TAILOR_API tailor_status* tailor_graph_output(tailor_graph* graph, const char* name, size_t name_size,
                                              tailor_value value);

/* The number of outputs so far; 0 for NULL. */
TAILOR_API size_t tailor_graph_output_count(const tailor_graph* graph);

/* A constant of `size` bytes, dense row-major, aligned to its element type. The name may be empty. If `released` is
 * NULL, the bytes are copied before this returns. Otherwise they are borrowed, and `released(user)` is called once,
 * when the graph and every compilation of it are gone; also when this call fails. */
TAILOR_API tailor_status* tailor_graph_constant(tailor_graph* graph, const char* name, size_t name_size, int32_t dtype,
                                                const int64_t* dims, size_t rank, const void* data, size_t size,
                                                void (*released)(void* user), void* user, tailor_value* out);
/* A rank-0 constant, rounded to `dtype`. */
TAILOR_API tailor_status* tailor_graph_scalar(tailor_graph* graph, int32_t dtype, double value, tailor_value* out);

/* Names a value's node, for messages, dumps and traces. An input keeps its own. */
TAILOR_API tailor_status* tailor_graph_set_name(tailor_graph* graph, tailor_value value, const char* name,
                                                size_t name_size);

/* The type of a value. `dims` has room for TAILOR_MAX_RANK entries; each out pointer may be NULL. */
TAILOR_API tailor_status* tailor_graph_value_type(tailor_graph* graph, tailor_value value, int32_t* dtype,
                                                  int32_t* rank, tailor_dim* dims);

/* Canonical text of the graph, or of a dim. Borrowed from the graph until its next text call. */
TAILOR_API tailor_status* tailor_graph_text(tailor_graph* graph, const char** text);
TAILOR_API tailor_status* tailor_dim_text(tailor_graph* graph, tailor_dim dim, const char** text);
/* The shape facts as text: symbols, ranges, equalities with their origins, compiled checks. */
TAILOR_API tailor_status* tailor_graph_facts_text(tailor_graph* graph, const char** text);

/* ---- Compound operations: append primitives --------------------------------------------------
 *
 * Operands have one element type, which is also the result's: f16, bf16 (both accumulate in f32), f32 or f64, unless
 * noted otherwise. For f16 and bf16, softmax, log_softmax, layer_norm and l2_normalize compute in f32 and round their
 * result once. So does the softmax of attention, whose scores are rounded as a dot's result is. A negative axis counts
 * from the end. Errors are those of the primitives: INVALID_ARGUMENT naming op and operand; `*out` and the graph are
 * then unchanged. */

/* e^x / sum(e^x) along `axis`, and its logarithm. */
TAILOR_API tailor_status* tailor_graph_softmax(tailor_graph* graph, tailor_value x, int64_t axis, tailor_value* out);
TAILOR_API tailor_status* tailor_graph_log_softmax(tailor_graph* graph, tailor_value x, int64_t axis,
                                                   tailor_value* out);
/* (x - mean) / sqrt(variance + epsilon) * scale + bias over the last axis. `scale` and `bias` have shape [C], the last
 * dim of x; 0 for none. */
TAILOR_API tailor_status* tailor_graph_layer_norm(tailor_graph* graph, tailor_value x, tailor_value scale,
                                                  tailor_value bias, double epsilon, tailor_value* out);
/* x / 2 * (1 + erf(x / sqrt(2))), and its approximation x / 2 * (1 + tanh(sqrt(2 / pi) * (x + 0.044715 x^3))). The
 * approximation of -inf is NaN, because -inf is multiplied by zero. */
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

/* Windows over the spatial dims of x [N, C, D...], which are all dims after the second. Each array has `rank` entries,
 * one per spatial dim, or is NULL: strides and dilations 1, no padding. */
typedef struct tailor_spatial_options {
  uint64_t struct_size;
  size_t rank;
  const int64_t* strides;
  const int64_t* dilations;
  const tailor_dim* low;  /* elements of padding before the first; negative: crop */
  const tailor_dim* high; /* elements of padding after the last; negative: crop */
} tailor_spatial_options;
static inline void tailor_spatial_options_init(tailor_spatial_options* options) {
  memset(options, 0, sizeof(*options));
  options->struct_size = sizeof(*options);
}

/* out[n, m, o...] = bias[m] + sum over c, k... of x[n, g C / groups + c, o * stride + k * dilation - low, ...] *
 * weights[m, c, k...], where g is the group of m and x is 0 out of range.
 * Padding zeros are multiplied: with an infinite or NaN weight they give NaN, for windows of any size, 1 x 1 included.
 * Padded 1 x 1 convolutions are faster with finite constant weights.
 * Shapes:  x [N, C, D...], weights [M, C / groups, K...], bias [M] (0: none) -> [N, M, O...] with O = max(floordiv(low
 *          + D + high - (K - 1) * dilation - 1, stride) + 1, 0).
 * Types:   f16, bf16, f32, f64, i32 or i64; the same for all operands. Or x and weights in i16, or x in u8 and weights
 *          in i8: bias and result are then i32. Integers wrap. */
TAILOR_API tailor_status* tailor_graph_conv(tailor_graph* graph, tailor_value x, tailor_value weights,
                                            tailor_value bias, int64_t groups, const tailor_spatial_options* options,
                                            tailor_value* out);
/* The maximum of each window. `sizes` has one window size per spatial dim: [N, C, D...] -> [N, C, O...], O as for conv.
 * Padding is below every element. */
TAILOR_API tailor_status* tailor_graph_max_pool(tailor_graph* graph, tailor_value x, const tailor_dim* sizes,
                                                size_t size_count, const tailor_spatial_options* options,
                                                tailor_value* out);
/* The mean of each window: over its elements of x only, or with `count_include_pad` 1 over its padding (zeros) too. */
TAILOR_API tailor_status* tailor_graph_average_pool(tailor_graph* graph, tailor_value x, const tailor_dim* sizes,
                                                    size_t size_count, int32_t count_include_pad,
                                                    const tailor_spatial_options* options, tailor_value* out);

/* Options of recurrent layers. Values may be 0: none. */
typedef struct tailor_recurrence_options {
  uint64_t struct_size;
  tailor_value bias;           /* [G * H], added to x w^T; none: zeros */
  tailor_value recurrent_bias; /* [G * H], added to h r^T; none: zeros */
  tailor_value initial_h;      /* [B, H]; none: zeros */
  tailor_value initial_c;      /* lstm: [B, H]; none: zeros */
  tailor_value lengths;        /* i32 or i64 [B]: step t of entry b is valid if t < lengths[b]; none: all are */
  tailor_value peepholes;      /* lstm: [3 * H], weights of c in the gates i, o, f; none: zeros */
  int32_t reverse;             /* 1: run from the last step to the first */
  int32_t linear_before_reset; /* 1: the reset gate of a gru multiplies h r_n^T, not h */
  int32_t input_forget;        /* 1: the forget gate of an lstm is 1 - i */
  int32_t reserved;            /* 0 */
  double clip;                 /* clamp inputs of gate functions to [-clip, clip]; 0: no clamp */
  /* Names of the functions f, g, k below, as many as the layer has; NULL with a count of 0: the defaults stated there.
   * With a = alphas[i] and b = betas[i]; where an array is NULL or an entry NaN, the defaults in parentheses:
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

/* Recurrent layers: one matmul for the inputs of all steps, then a loop over the steps that updates the state h. A step
 * beyond `lengths` keeps the state and outputs 0.
 *   rnn:  h' = f(x w^T + h r^T); f is tanh.
 *   gru:  gates z, r, n in this order: h' = (1 - z) n + z h with z, r = f(x w^T + h r^T) and
 *         n = g(x w_n^T + (r h) r_n^T), or g(x w_n^T + r (h r_n^T)) with linear_before_reset; f, g are sigmoid, tanh.
 *   lstm: gates i, o, f, n in this order: c' = f c + i n, h' = o k(c') with i, o, f = f(x w^T + h r^T + p c), where
 *         gate o uses c' for c, and n = g(x w_n^T + h r_n^T); f, g, k are sigmoid, tanh, tanh.
 * Shapes:  x [T, B, I], w [G * H, I], r [G * H, H] with one block of H rows per gate -> y [T, B, H], the state after
 *          each step; h and c [B, H], the state after the last step. */
TAILOR_API tailor_status* tailor_graph_rnn(tailor_graph* graph, tailor_value x, tailor_value w, tailor_value r,
                                           const tailor_recurrence_options* options, tailor_value* y, tailor_value* h);
TAILOR_API tailor_status* tailor_graph_gru(tailor_graph* graph, tailor_value x, tailor_value w, tailor_value r,
                                           const tailor_recurrence_options* options, tailor_value* y, tailor_value* h);
TAILOR_API tailor_status* tailor_graph_lstm(tailor_graph* graph, tailor_value x, tailor_value w, tailor_value r,
                                            const tailor_recurrence_options* options, tailor_value* y, tailor_value* h,
                                            tailor_value* c);

/* Sorts the elements along `axis` in ascending order, or descending with `descending` 1. `values` are the sorted
 * elements and `indices` their original indices along the axis (i64); both have x's shape. Any dtype. NaN is above all
 * numbers, -0 equals 0, and equal elements keep the order of their indices. Takes about log2(n)^2 / 2 passes over n
 * elements. */
TAILOR_API tailor_status* tailor_graph_sort(tailor_graph* graph, tailor_value x, int64_t axis, int32_t descending,
                                            tailor_value* values, tailor_value* indices);
/* The first k elements in descending order (`largest` 1) or ascending order (0): [..., k, ...]. Every run checks that k
 * is at most the dim size. */
TAILOR_API tailor_status* tailor_graph_top_k(tailor_graph* graph, tailor_value x, tailor_dim k, int64_t axis,
                                             int32_t largest, tailor_value* values, tailor_value* indices);

/* The rows of x [N, ...] where mask bool[N] is true, in order: [M, ...]; M is a new symbol, bound to their number in
 * each run. x has any dtype. */
TAILOR_API tailor_status* tailor_graph_compact(tailor_graph* graph, tailor_value x, tailor_value mask,
                                               tailor_value* out);
/* Indices of the nonzero elements of x, in row-major order: i64[rank, M]; M is a new symbol. x has any dtype. */
TAILOR_API tailor_status* tailor_graph_nonzero(tailor_graph* graph, tailor_value x, tailor_value* out);
/* The distinct elements of x, or its distinct slices along `*axis` (NULL: elements). Their number U is a new symbol.
 * NaN equals NaN. With `sorted` 1 in ascending order (slices compare lexicographically), else in order of first
 * occurrence.
 * Results: `values` [U], or x's shape with U in place of N along the axis; `indices` i64[U], of first occurrences;
 *          `inverse` i64[N], the index into `values` of each element or slice of x; `counts` i64[U], of occurrences. */
TAILOR_API tailor_status* tailor_graph_unique(tailor_graph* graph, tailor_value x, const int64_t* axis, int32_t sorted,
                                              tailor_value* values, tailor_value* indices, tailor_value* inverse,
                                              tailor_value* counts);

/* ---- Loops and branches ----------------------------------------------------------------------
 *
 * A region is a separate graph: its inputs are arguments from the surrounding graph, its outputs its results. It sees
 * nothing else. Its symbols are its own and are bound to the arguments' dim sizes: f32[N] takes any vector. The region
 * is copied, so its graph may be released.
 *
 * `shapes` lists the dim sizes of all results, concatenated; -1, or NULL with a count of 0, means inferred. An entry is
 * needed for a data-dependent dim size: a symbol that no earlier node uses. Nodes that depend on such a dim size run
 * after the operation, in memory that grows during the run. */

/* Repeats `body` (values -> values) while `condition` (values -> bool[]) is true. A value that the body returns
 * unchanged costs nothing to carry; a value that it returns as a scatter of updates into it is updated in place.
 * Results: as many as values, with their dtypes and ranks; dim sizes that the body changes are in `shapes`.
 * Errors:  INVALID_ARGUMENT naming region, argument and types that do not match. */
TAILOR_API tailor_status* tailor_graph_while(tailor_graph* graph, const tailor_value* values, size_t count,
                                             const tailor_graph* condition, const tailor_graph* body,
                                             const tailor_dim* shapes, size_t shape_count, tailor_value* results);
/* Runs one of two branches (values -> results): `then_branch` if `condition`, a bool[], is true, else `else_branch`.
 * Results: `result_count`, as many as each branch returns, with the same element types and ranks. */
TAILOR_API tailor_status* tailor_graph_if(tailor_graph* graph, tailor_value condition, const tailor_value* values,
                                          size_t count, const tailor_graph* then_branch,
                                          const tailor_graph* else_branch, const tailor_dim* shapes, size_t shape_count,
                                          tailor_value* results, size_t result_count);

/* ---- Custom operators ------------------------------------------------------------------------
 *
 * A node that a function of the host computes, registered by name with the runtime that loads the artifact
 * (tailor_runtime_register); the artifact lists what it needs. Kernels end before it and begin after it; memory,
 * donation, loops and threads are as for other nodes. "tailor.run_state" is the runtime's own: without operands, it
 * returns u64[2], the seed and the number of the run (tailor_session_set_seed), for counter-based random numbers. */

/* A result of a custom operator. Frozen (docs/abi.md). */
typedef struct tailor_custom_result {
  const tailor_dim* dims;
  size_t rank;
  int32_t dtype;
  int32_t counted_dim; /* -1: none. Else the size of this dim is a bound: the function counts how much of it is used */
} tailor_custom_result;

typedef struct tailor_custom_options {
  uint64_t struct_size;
  const char* attributes; /* UTF-8 text for the function, by convention a JSON object; NULL: "" */
  size_t attributes_size;
  int32_t impure; /* 1: calls have effects or results that differ within a run: never merged, never dropped */
  int32_t reserved;
} tailor_custom_options;

static inline void tailor_custom_options_init(tailor_custom_options* options) {
  memset(options, 0, sizeof(*options));
  options->struct_size = sizeof(*options);
}
/* Appends a call of custom operator `name`. An operator that is not `impure` must give equal results for equal operands
 * within a run: equal calls are merged, and unused ones dropped. The order of calls that do not depend on each other is
 * open.
 * Results: `results[i]` states the type of out[i]; element types and dims are the caller's choice, over any symbols of
 *          the graph. The function gets results of these sizes. For a result with a counted dim it also sets an i64[]
 *          (after all results, one per counted result) to a number from 0 to the bound; out[i] is the leading part,
 *          whose dim is a fresh symbol with that value. Every run checks the number.
 * Errors:  INVALID_ARGUMENT naming the operator for an empty name, no results, a foreign value or dim, an unknown
 *          dtype, or a counted dim that the result does not have. */
TAILOR_API tailor_status* tailor_graph_custom(tailor_graph* graph, const char* name, size_t name_size,
                                              const tailor_value* operands, size_t operand_count,
                                              const tailor_custom_result* results, size_t result_count,
                                              const tailor_custom_options* options, tailor_value* out);

/* ---- Compile --------------------------------------------------------------------------------- */

#define TAILOR_DENORMALS_AUTO 0
#define TAILOR_DENORMALS_KEEP 1
#define TAILOR_DENORMALS_FLUSH 2

typedef struct tailor_compile_options {
  uint64_t struct_size;
  /* CPU targets; the best supported one is chosen at load. "x86-64-v2", "x86-64-v3", "x86-64-v4", each optionally with
   * more features ("x86-64-v4+avx512bf16"); "host" is the best level of this machine. Default (count 0): the three
   * levels, for bf16 matmuls also "x86-64-v4+avx512bf16" and "x86-64-v4+avx512bf16+amx-tile+amx-bf16", for
   * matmuls of u8 by i8 or in i16 "x86-64-v4+avx512vnni", and of u8 by i8 also
   * "x86-64-v4+avx512vnni+amx-tile+amx-int8". Without such matmuls these are the same as "x86-64-v4". */
  const char* const* targets;
  size_t target_count;
  /* Called on the caller's thread with the phase and the fraction done (0..1). Return 0 to cancel; the call then fails
   * with CANCELLED. Phases: "analyse", "rewrite", "fuse" and "lower", with the pass ("fuse stitch"), before each pass
   * over the graph or a region; "pack", after each MiB of constants; "emit", after each module and image; "done". */
  int32_t (*progress)(void* user, const char* phase, double done);
  void* progress_user;
  uint64_t threads;          /* compiler threads; 0: tailor_usable_cpus() */
  const uint8_t* secret_key; /* Ed25519 secret key, 64 bytes, to sign the artifact; or NULL */
  /* Limits on code, at least 1 each. A kernel has at most max_versions versions. If a target's code exceeds
   * max_code_bytes, kernels are reduced to one version, those with the largest other versions first; RESOURCE_EXHAUSTED
   * if that is not enough. tailor_executable_describe lists the dropped versions. */
  uint64_t max_versions;   /* default 8 */
  uint64_t max_code_bytes; /* default 64 MiB */
  /* Names of donated inputs: runs may write their memory. An output that can be computed in place of a donated input is
   * written there (tailor_executable_output reports it), and intermediates may be written there too. */
  const char* const* donated;
  size_t donated_count;
  int32_t device;         /* for tailor_graph_compile, as in tailor_load_options: where the executable runs */
  int32_t device_ordinal; /* ordinal of the CUDA device */
  int32_t offer_products; /* 1: a runtime's matmul provider, or cuBLASLt on GPUs, may compute plain matmuls */
  /* 1: convolutions are computed directly, as sums of products of elements of x and weights. 0: without a GPU target
   * (which would need the plain weights too), Winograd's F(2x2, 3x3) computes those with constant f32 weights, at least
   * 16 input and output channels, and 3 x 3 windows of stride 1 and dilation 1, 2 or 4. Winograd rounds sums of 4 x 4
   * elements, and of weights, before multiplying; the artifact has 16/9 of the weights' bytes; the result of a window
   * with an infinity is NaN (docs/decisions/convolutions-are-windows.md). */
  int32_t direct_convolutions;
  /* 1: on GPUs, where tensor cores then apply, the operands of f32 matmuls are rounded to tf32 (10 bits of mantissa).
   * Each result is within 2^-10 of the sum of |lhs * rhs| (docs/gpu.md). 0: operands stay f32. */
  int64_t allow_tf32;
  /* Limit in bytes on the memory for compiling, beyond the graph's own constants; 0: no limit. Fewer threads are used
   * where that meets the limit. If one thread needs more, RESOURCE_EXHAUSTED with the estimate, before LLVM starts. The
   * estimate is above the measured use of sample models (docs/compiling.md); only `isolated` makes the limit exact. */
  uint64_t memory_limit;
  /* 1: compile in a process of its own, tailor-compile-worker, which has a copy of the constants. The bytes are the
   * same. The system then enforces memory_limit exactly. Exhausted memory, in the system or beyond the limit, is
   * RESOURCE_EXHAUSTED; a crash inside LLVM is INTERNAL. The progress function is called at least every 20 ms, and if
   * it cancels, compilation ends at once. FAILED_PRECONDITION if the worker cannot be started. The host must not reap
   * processes that it did not start (waitpid(-1)). */
  int64_t isolated;
  /* Path of the worker; NULL: tailor/tailor-compile-worker in the libexec folder of the installation, which is found
   * relative to libtailor.so; usually ../libexec. */
  const char* worker;
  /* 1: code generation optimizes all CPU code. 0: of CPU code only the micro-kernels of matmuls and convolutions. Then
   * compiling takes 0.5 to 0.8 of the time, runs of models took up to 1.32 times as long, code has up to twice the
   * bytes, and results are the same bits (docs/compiling.md). GPU kernels are always optimized. */
  int64_t optimize; /* default 1 */
  /* Names of passes to leave out, to find what a result or a time is due to: simplify-algebra, quantize-once,
   * scale-one-operand, keep-channels-last, group-queries, merge-equal-nodes, merge-matmuls, narrow-matmuls,
   * fuse-elementwise, fuse-dot-epilogue, fuse-reduce, stitch, fuse-scan, remote-stitch, chain-matmuls; for CPUs,
   * keep-images-channels-last, interleave-rows, pack-short-rows and choose-tilings (docs/compiling.md). Results agree
   * within rounding. INVALID_ARGUMENT for another name. */
  const char* const* without;
  size_t without_count;
  /* Text of the cost profile of the machine to compile for (`tailor tune profile`, `tailor tune model`); NULL: the
   * built-in profiles. Matmuls keep the tilings that are worth their code by it, and the artifact carries it in place
   * of the built-in profiles. Results are the same bits (docs/compiling.md). INVALID_ARGUMENT unless there is exactly
   * one CPU target (by default there are several), and naming the line where the text is wrong. */
  const char* cost_profile;
  uint64_t cost_profile_size; /* in bytes */
  /* TAILOR_DENORMALS_*: whether CPUs flush denormal numbers to zero, in all kernels and custom operators of a run:
   * arithmetic takes denormal operands for zeros and gives zeros, in all types but f16. What only moves an element or
   * changes its sign keeps it. An instruction on a denormal takes about 120 cycles on Intel CPUs. Auto, the default:
   * runs flush if a constant of at least 257 elements has denormal ones, as weights of unused channels do after weight
   * decay; tailor_executable_describe says which constant. */
  int64_t denormals;
} tailor_compile_options;

static inline void tailor_compile_options_init(tailor_compile_options* options) {
  memset(options, 0, sizeof(*options));
  options->struct_size = sizeof(*options);
  options->max_versions = 8;
  options->max_code_bytes = (uint64_t)64 << 20;
  options->optimize = 1;
}
/* Compiles for all shapes at once, and loads the result with `runtime` (NULL: the default one). The graph may be
 * extended and compiled again; several threads may compile it at a time. Equal graphs and options give equal bytes.
 * Errors: INVALID_ARGUMENT naming an unsolvable symbol, contradictory dims or a bad option; FAILED_PRECONDITION for a
 *         graph without outputs, or one that another call is changing, and, before anything is compiled, for a device
 *         that does not exist; UNIMPLEMENTED naming a node and type that cannot be compiled.
 * Memory: if an allocation inside LLVM fails, LLVM ends the process ("LLVM ERROR: out of memory") without a status. A
 *         host that must survive that sets `isolated`. */
TAILOR_API tailor_status* tailor_graph_compile(const tailor_graph* graph, const tailor_runtime* runtime,
                                               const tailor_compile_options* options, tailor_executable** out);

/* Compiles without loading, for other machines too. Passes the artifact's bytes to `take`, once, valid during that
 * call. */
TAILOR_API tailor_status* tailor_graph_compile_artifact(const tailor_graph* graph,
                                                        const tailor_compile_options* options,
                                                        void (*take)(void* user, const void* data, size_t size),
                                                        void* user);

/* The number of LLVM modules emitted by this process. */
TAILOR_API uint64_t tailor_compiler_modules_emitted(void);

#include "tailor/ops.h" /* one function per primitive op, generated from the op table */

#ifdef __cplusplus
} /* extern "C" */
#endif

#endif /* TAILOR_COMPILER_H_ */
