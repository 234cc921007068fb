/* The version of the headers. CMake, the packages and the bindings take it from here.
 *
 * Compiled and linked versions may differ: the library's own is tailor_version_number(). It must not be older than
 * TAILOR_VERSION_NUMBER of the headers; a newer one of the same TAILOR_ABI serves programs compiled with older headers.
 */
#ifndef TAILOR_VERSION_H_
#define TAILOR_VERSION_H_

#define TAILOR_VERSION_MAJOR 0
#define TAILOR_VERSION_MINOR 1
#define TAILOR_VERSION_PATCH 0

/* Counts incompatible changes of the C ABI: the number in the SONAMEs (libtailor_runtime.so.1). Promises: docs/abi.md.
 */
#define TAILOR_ABI 1

/* Grows with every release: 100 is 0.1.0. */
#define TAILOR_VERSION_NUMBER (TAILOR_VERSION_MAJOR * 10000 + TAILOR_VERSION_MINOR * 100 + TAILOR_VERSION_PATCH)

#endif /* TAILOR_VERSION_H_ */
