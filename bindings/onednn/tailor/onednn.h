/* oneDNN as a matmul provider: libtailor_onednn.so. The runtime library does not link it.
 *
 *   tailor_runtime_options options;
 *   tailor_runtime_options_init(&options);
 *   options.product_provider = tailor_onednn_product_provider();
 *
 * A host that does not link this library gets the function by dlopen and dlsym. */
#ifndef TAILOR_ONEDNN_H_
#define TAILOR_ONEDNN_H_

#include "tailor/runtime.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Static. It takes every matmul for which oneDNN has more than its reference code. Primitives are cached for each
 * combination of dim sizes, up to 1,024 of them. Each constant is repacked at its first use, in each layout that oneDNN
 * asks for, and kept until the program's own constant is freed. Matmuls run on oneDNN's own OpenMP threads, as many as
 * the session has. */
TAILOR_API const tailor_product_provider* tailor_onednn_product_provider(void);

#ifdef __cplusplus
}
#endif

#endif /* TAILOR_ONEDNN_H_ */
