// The text rule for names and messages in artifacts, and for all strings from the host.
#ifndef TAILOR_SERIALIZATION_UTF8_H_
#define TAILOR_SERIALIZATION_UTF8_H_

#include <string_view>

namespace tailor {

// UTF-8 without zero bytes, because the C API returns NUL-terminated texts. Rejects overlong forms, surrogates and code
// points above U+10FFFF.
bool IsText(std::string_view text);

}  // namespace tailor

#endif  // TAILOR_SERIALIZATION_UTF8_H_
