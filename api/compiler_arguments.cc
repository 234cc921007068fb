#include "api/compiler_arguments.h"

#include "absl/strings/str_cat.h"
#include "serialization/utf8.h"

namespace tailor {

absl::StatusOr<std::string> ReadString(const char* function, absl::string_view name, const char* data, size_t size) {
  if (size == 0) return std::string();
  if (data == nullptr) return absl::InvalidArgumentError(absl::StrCat(function, ": ", name, " is null"));
  std::string text(TextOf(data, size));
  if (!IsText(text)) {
    return absl::InvalidArgumentError(absl::StrCat(function, ": ", name, " is no UTF-8 text, or holds a zero byte"));
  }
  return text;
}

absl::StatusOr<DType> ReadDType(const char* function, absl::string_view name, int32_t dtype) {
  if (dtype > 0 && dtype < kDTypeCount) return static_cast<DType>(dtype);
  return absl::InvalidArgumentError(absl::StrCat(function, ": ", name, " is ", dtype, ", no element type"));
}

}  // namespace tailor
