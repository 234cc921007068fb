#include "api/compiler_arguments.h"

#include "absl/strings/str_cat.h"

namespace tailor {
namespace {

// Bytes of the UTF-8 sequence that starts at text[i], or 0 where there is none: no overlong forms,
// surrogates or code points above 10FFFF.
size_t SequenceLength(absl::string_view text, size_t i) {
  auto byte = [&](size_t j) { return static_cast<uint8_t>(text[i + j]); };
  const uint8_t lead = byte(0);
  if (lead < 0x80) return 1;
  const size_t length = lead >= 0xF0 ? 4 : lead >= 0xE0 ? 3 : 2;
  if (lead < 0xC2 || lead > 0xF4 || i + length > text.size()) return 0;
  for (size_t j = 1; j < length; ++j) {
    if ((byte(j) & 0xC0) != 0x80) return 0;
  }
  const uint8_t next = byte(1);
  const bool bad = (lead == 0xE0 && next < 0xA0) || (lead == 0xED && next > 0x9F) || (lead == 0xF0 && next < 0x90) ||
                   (lead == 0xF4 && next > 0x8F);
  return bad ? 0 : length;
}

bool IsUtf8(absl::string_view text) {
  for (size_t i = 0; i < text.size();) {
    size_t length = SequenceLength(text, i);
    if (length == 0) return false;
    i += length;
  }
  return true;
}

}  // namespace

absl::StatusOr<std::string> ReadString(const char* function, absl::string_view name, const char* data, size_t size) {
  if (size == 0) return std::string();
  if (data == nullptr) return absl::InvalidArgumentError(absl::StrCat(function, ": ", name, " is null"));
  std::string text(TextOf(data, size));
  if (text.find('\0') != std::string::npos || !IsUtf8(text)) {
    return absl::InvalidArgumentError(absl::StrCat(function, ": ", name, " is no UTF-8 text, or holds a zero byte"));
  }
  return text;
}

absl::StatusOr<DType> ReadDType(const char* function, absl::string_view name, int32_t dtype) {
  if (dtype > 0 && dtype < kDTypeCount) return static_cast<DType>(dtype);
  return absl::InvalidArgumentError(absl::StrCat(function, ": ", name, " is ", dtype, ", no element type"));
}

}  // namespace tailor
