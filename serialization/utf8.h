// What every name and text in an artifact, and every string that a host gives, must be.
#ifndef TAILOR_SERIALIZATION_UTF8_H_
#define TAILOR_SERIALIZATION_UTF8_H_

#include <string_view>

namespace tailor {

// UTF-8 without zero bytes, since the C API hands texts out NUL-terminated. Rejects overlong forms, surrogates and
// anything above U+10FFFF.
bool IsText(std::string_view text);

}  // namespace tailor

#endif  // TAILOR_SERIALIZATION_UTF8_H_
