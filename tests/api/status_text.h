// Statuses as text.
#ifndef TAILOR_TESTS_API_STATUS_TEXT_H_
#define TAILOR_TESTS_API_STATUS_TEXT_H_

#include <string>

#include "tailor/runtime.h"

namespace tailor {

// "OK", or "<code>: <message>"; releases `status`.
inline std::string Text(tailor_status* status) {
  if (status == nullptr) return "OK";
  std::string text = std::to_string(tailor_status_code(status)) + ": " + tailor_status_message(status);
  tailor_status_release(status);
  return text;
}

}  // namespace tailor

#endif  // TAILOR_TESTS_API_STATUS_TEXT_H_
