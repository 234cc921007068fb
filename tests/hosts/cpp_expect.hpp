// What the tests of the C++ layer share.
#ifndef TAILOR_TESTS_HOSTS_CPP_EXPECT_HPP_
#define TAILOR_TESTS_HOSTS_CPP_EXPECT_HPP_

#include <gtest/gtest.h>

#include <string>

#include "tailor/runtime.hpp"

// Expects an error of this code whose message has these words.
template <typename T>
void ExpectError(const tailor::Result<T>& result, tailor::Code code, const std::string& words) {
  ASSERT_FALSE(result.has_value()) << "expected: " << words;
  EXPECT_EQ(name_of(result.error().code()), name_of(code)) << result.error().what();
  EXPECT_NE(result.error().message().find(words), std::string::npos) << result.error().what();
}

template <typename T>
void ExpectInvalid(const tailor::Result<T>& result, const std::string& words) {
  ExpectError(result, tailor::Code::kInvalidArgument, words);
}

#endif  // TAILOR_TESTS_HOSTS_CPP_EXPECT_HPP_
