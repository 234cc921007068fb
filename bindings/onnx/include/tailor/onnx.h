/* Tailor's ONNX front end: a graph from an ONNX model. C99; libtailor_onnx.so, which needs libtailor.so. Conventions:
 * the head of tailor/runtime.h.
 *
 * Opsets 6 to 27 of the default domain; of older ones the operators that have not changed since. The operators:
 * docs/onnx-operators.md. A model that is wrong is INVALID_ARGUMENT; one that is valid but not supported is
 * UNIMPLEMENTED. Messages name the node, the input or the initializer, and tailor_status_node does too. */
#ifndef TAILOR_ONNX_H_
#define TAILOR_ONNX_H_

#include "tailor/compiler.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The range of a symbol, as tailor_symbol_options has it. Frozen (docs/abi.md), as the next two are. */
typedef struct tailor_onnx_symbol {
  const char* name;
  size_t name_size;
  int64_t min, max, multiple_of;
  const int64_t* likely;
  size_t likely_count;
} tailor_onnx_symbol;

/* A dim of inputs: a number or an expression. */
typedef struct tailor_onnx_dim {
  const char* name; /* a dim_param, or "<input>_dim<i>" for a dim without one */
  size_t name_size;
  const char* text; /* "4", "B", "2*S + 1": integers, symbols, + - *, parentheses; floordiv(a, b), ceildiv, truncdiv,
                     * mod, truncmod, min, max, less, equal; select(condition, a, b) */
  size_t text_size;
} tailor_onnx_dim;

/* An input that always has these elements: axes, shapes and the like that compilation has to know. The graph does not
 * have this input. `tensor` is in host memory and is copied. */
typedef struct tailor_onnx_fixed {
  const char* name;
  size_t name_size;
  tailor_tensor tensor;
} tailor_onnx_fixed;

typedef struct tailor_onnx_options {
  uint64_t struct_size;
  const tailor_onnx_symbol* symbols; /* ranges of symbols; others have the default range */
  size_t symbol_count;
  /* Each dim_param is a symbol of its name, and each dim without one a symbol "<input>_dim<i>", unless it is listed. */
  const tailor_onnx_dim* dims;
  size_t dim_count;
  const tailor_onnx_fixed* fixed;
  size_t fixed_count;
  /* Before the call fails because something depends on data that compilation has to know: called once for each input
   * which, if fixed, might avoid that. May be NULL. */
  void (*needs_fixed)(void* user, const char* input, size_t size);
  void* user;
  /* Of a model in memory: the folder of its external data; NULL: the model has none. */
  const char* directory;
  size_t directory_size;
  /* Domains whose nodes are custom operators, unless docs/onnx-operators.md has them: the node op_type of domain "d" is
   * operator "d::op_type" (tailor_graph_custom, tailor_runtime_register). Its attributes are a JSON object in the
   * model's order, "" without any; infinities and NaN are strings. The types of its results are those of the model's
   * value_info or outputs, whose dims are numbers or expressions over dims of inputs. A dim_param that no input has is
   * what the operator counts (tailor_custom_result.counted_dim): its entry in `dims` is the bound. */
  const char* const* custom_domains; /* NUL-terminated */
  size_t custom_domain_count;
} tailor_onnx_options;

static inline void tailor_onnx_options_init(tailor_onnx_options* options) {
  memset(options, 0, sizeof(*options));
  options->struct_size = sizeof(*options);
}

/* Loads the model file `path`. Weights stay in the mapped file where they are aligned to their elements: the file, and
 * files with external data below its folder, must not change until the graph and every compilation of it are gone.
 * Errors: NOT_FOUND for a missing file. */
TAILOR_API tailor_status* tailor_onnx_load(const char* path, size_t path_size, const tailor_onnx_options* options,
                                           tailor_graph** out);
/* Loads a model of `size` bytes. If `released` is NULL, they are copied. Otherwise they are borrowed, and
 * `released(user)` is called once, when the graph and every compilation of it are gone; also when this call fails. */
TAILOR_API tailor_status* tailor_onnx_load_memory(const void* data, size_t size, void (*released)(void* user),
                                                  void* user, const tailor_onnx_options* options, tailor_graph** out);

/* docs/onnx-operators.md as text: the operators, their versions and attributes. Static. */
TAILOR_API const char* tailor_onnx_operators(void);

#ifdef __cplusplus
} /* extern "C" */
#endif

#endif /* TAILOR_ONNX_H_ */
