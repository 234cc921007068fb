#include <gtest/gtest.h>

#include <climits>
#include <cstring>

#include "tests/api/runtime_fixture.h"

namespace tailor {
namespace {

TEST(Status, NullIsSuccess) {
  EXPECT_EQ(tailor_status_code(nullptr), TAILOR_OK);
  EXPECT_STREQ(tailor_status_message(nullptr), "");
  EXPECT_STREQ(tailor_status_node(nullptr), "");
  tailor_status_release(nullptr);
}

TEST(Status, KeepsWhatItWasMadeOf) {
  const StatusHandle status(tailor_status_create(TAILOR_CANCELLED, "stopped here", 7, "n1", SIZE_MAX));
  EXPECT_EQ(tailor_status_code(status.get()), TAILOR_CANCELLED);
  EXPECT_STREQ(tailor_status_message(status.get()), "stopped");
  EXPECT_STREQ(tailor_status_node(status.get()), "n1");
}

TEST(Status, TextsMayBeMissing) {
  const StatusHandle status(tailor_status_create(TAILOR_INTERNAL, nullptr, 5, nullptr, SIZE_MAX));
  EXPECT_STREQ(tailor_status_message(status.get()), "");
  EXPECT_STREQ(tailor_status_node(status.get()), "");
}

// Hosts decode texts as UTF-8.
TEST(Status, TextsAreUtf8) {
  const auto made = [](std::string_view text) {
    const StatusHandle status(
        tailor_status_create(TAILOR_INTERNAL, text.data(), text.size(), text.data(), text.size()));
    EXPECT_STREQ(tailor_status_message(status.get()), tailor_status_node(status.get()));
    return std::string(tailor_status_message(status.get()));
  };
  EXPECT_EQ(made("\u00e9 \u20ac \U0001F600"), "\u00e9 \u20ac \U0001F600");
  EXPECT_EQ(made("cut: \xC3"), "cut: \uFFFD");
  EXPECT_EQ(made("\xE2\x82"), "\uFFFD\uFFFD");
  EXPECT_EQ(made("\xF0\x9F\x98 rest"), "\uFFFD\uFFFD\uFFFD rest");
  EXPECT_EQ(made("'\xA9'"), "'\uFFFD'");
  EXPECT_EQ(made(std::string("node \0", 6)), "node \uFFFD");
  EXPECT_EQ(made("\xC0\x80"), "\uFFFD\uFFFD") << "longer than need be";
  EXPECT_EQ(made("\xED\xA0\x80"), "\uFFFD\uFFFD\uFFFD") << "half of a UTF-16 pair";
  EXPECT_EQ(made("\xF4\x90\x80\x80"), "\uFFFD\uFFFD\uFFFD\uFFFD") << "beyond the last character";
}

TEST(Status, SuccessCannotBeMade) {
  EXPECT_EQ(Text(tailor_status_create(TAILOR_OK, "x", 1, "", 0)), "3: tailor_status_create: code is TAILOR_OK");
}

TEST(Status, AnotherHandleIsNoStatus) {
  tailor_runtime* runtime = nullptr;
  ASSERT_EQ(Text(tailor_runtime_create(nullptr, &runtime)), "OK");
  const RuntimeHandle owner(runtime);
  auto* wrong = reinterpret_cast<tailor_status*>(runtime);
  EXPECT_EQ(tailor_status_code(wrong), TAILOR_INVALID_ARGUMENT);
  EXPECT_STREQ(tailor_status_message(wrong), "the handle is not a tailor_status");
  EXPECT_STREQ(tailor_status_node(wrong), "");
  tailor_status_release(wrong);
}

}  // namespace
}  // namespace tailor
