// A failure as one line, for EXPECT_EQ.
#ifndef TAILOR_TESTS_SUPPORT_FAILURE_TEXT_H_
#define TAILOR_TESTS_SUPPORT_FAILURE_TEXT_H_

#include <string>

#include "exec/failure.h"

namespace tailor {

// "OK", or the code and message, and the node in brackets where there is one.
inline std::string Text(const Failure& failure) {
  if (failure.ok()) return "OK";
  return std::to_string(static_cast<int>(failure.code)) + ": " + failure.message +
         (failure.node.empty() ? "" : " [" + failure.node + "]");
}

}  // namespace tailor

#endif  // TAILOR_TESTS_SUPPORT_FAILURE_TEXT_H_
