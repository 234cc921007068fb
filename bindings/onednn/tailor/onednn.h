/* oneDNN as a product provider: libtailor_onednn.so. The runtime library neither links nor knows it.
 *
 *   tailor_runtime_options options;
 *   tailor_runtime_options_init(&options);
 *   options.product_provider = tailor_onednn_product_provider();
 *
 * A host that does not link the library gets the same with dlopen and dlsym of that name. */
#ifndef TAILOR_ONEDNN_H_
#define TAILOR_ONEDNN_H_

#include "tailor/runtime.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Static. It takes every product for which oneDNN has more than its reference code. Primitives are kept for each
 * combination of dim sizes, up to 1,024 of them; each constant is repacked at its first use and kept beside the
 * program's own until it is gone, in as many layouts as oneDNN asks for. Products run on oneDNN's own OpenMP threads,
 * as many as the session has. */
TAILOR_API const tailor_product_provider* tailor_onednn_product_provider(void);

#ifdef __cplusplus
}
#endif

#endif /* TAILOR_ONEDNN_H_ */
