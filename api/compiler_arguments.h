// Reads the C arguments of tailor/compiler.h: strings, element types and options structs.
#ifndef TAILOR_API_COMPILER_ARGUMENTS_H_
#define TAILOR_API_COMPILER_ARGUMENTS_H_

#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "api/compiler_status.h"
#include "api/handle.h"
#include "graph/dtype.h"

namespace tailor {

// `size` SIZE_MAX: NUL-terminated. Rejects NULL (except with size 0), invalid UTF-8, and embedded NULs.
absl::StatusOr<std::string> ReadString(const char* function, absl::string_view name, const char* data, size_t size);

absl::StatusOr<DType> ReadDType(const char* function, absl::string_view name, int32_t dtype);

// The caller's options over the defaults of `init` (rules: api/handle.h).
template <typename Options>
absl::StatusOr<Options> OptionsOrDefaults(const char* function, const Options* options, void (*init)(Options*)) {
  Options read;
  init(&read);
  if (absl::Status status = FromC(TakeOptions(function, options, &read)); !status.ok()) return status;
  return read;
}

}  // namespace tailor

#endif  // TAILOR_API_COMPILER_ARGUMENTS_H_
