#include "serialization/utf8.h"

#include <gtest/gtest.h>

namespace tailor {
namespace {

TEST(Utf8, FirstAndLastCodeOfEachLengthIsText) {
  for (const char* text : {"", "\x01", "\x7f", "\xc2\x80", "\xdf\xbf", "\xe0\xa0\x80", "\xed\x9f\xbf", "\xee\x80\x80",
                           "\xef\xbf\xbf", "\xf0\x90\x80\x80", "\xf4\x8f\xbf\xbf", "a\xc3\xa9z"}) {
    EXPECT_TRUE(IsText(text)) << text;
  }
}

TEST(Utf8, WhatDecodersDisagreeOnIsNone) {
  for (const char* text : {"\x80", "\xc1\xbf", "\xc3", "\xc3z", "\xe0\x9f\xbf", "\xe2\x82", "\xed\xa0\x80",
                           "\xed\xbf\xbf", "\xf0\x8f\xbf\xbf", "\xf4\x90\x80\x80", "\xf5\x80\x80\x80", "\xff"}) {
    EXPECT_FALSE(IsText(text));
  }
  EXPECT_FALSE(IsText(std::string_view("a\0b", 3)));
}

}  // namespace
}  // namespace tailor
