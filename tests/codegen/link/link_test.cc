#include "codegen/link/link.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/codegen/link/ir_image.h"

namespace tailor {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

constexpr char kScale[] = R"(
define float @scale(float %x) {
  %y = fmul float %x, 1.5
  ret float %y
}
define i32 @pick(i32 %i) {
  switch i32 %i, label %other [i32 0, label %a
                               i32 1, label %b
                               i32 2, label %c
                               i32 3, label %d]
a: ret i32 70
b: ret i32 3
c: ret i32 41
d: ret i32 9
other: ret i32 -1
}
)";

constexpr char kMain[] = R"(
declare float @scale(float)
declare i32 @pick(i32)
@table = internal constant [3 x float] [float 2.0, float 4.0, float 8.0]
define float @main_entry(i64 %i) {
  %p = getelementptr [3 x float], ptr @table, i64 0, i64 %i
  %x = load float, ptr %p
  %y = call float @scale(float %x)
  ret float %y
}
define ptr @address_of_pick() {
  ret ptr @pick
}
)";

class LinkTest : public ::testing::Test {
 protected:
  absl::StatusOr<Image> Link(const std::vector<std::string>& modules, const std::vector<std::string>& entries) {
    std::vector<std::unique_ptr<llvm::MemoryBuffer>> objects;
    for (const std::string& text : modules) objects.push_back(CompileIr(ParseIr(context_, text)));
    return LinkImage(std::move(objects), entries);
  }
  llvm::LLVMContext context_;
};

TEST_F(LinkTest, ImageRunsWhereverItIsCopied) {
  auto image = Link({kScale, kMain}, {"main_entry", "address_of_pick"});
  ASSERT_TRUE(image.ok()) << image.status();
  const CodeImage first(*image), second(*image);
  for (const CodeImage* mapped : {&first, &second}) {
    EXPECT_EQ(mapped->Find<float (*)(int64_t)>("main_entry")(2), 12.0f);
    auto pick = mapped->Find<int32_t (*(*)())(int32_t)>("address_of_pick")();
    EXPECT_EQ(pick(0), 70);
    EXPECT_EQ(pick(2), 41);
    EXPECT_EQ(pick(5), -1);
  }
  EXPECT_NE(first.Find<void*>("main_entry"), second.Find<void*>("main_entry"));
}

TEST_F(LinkTest, SameModulesGiveSameBytes) {
  auto first = Link({kScale, kMain}, {"main_entry"});
  auto second = Link({kScale, kMain}, {"main_entry"});
  ASSERT_TRUE(first.ok() && second.ok());
  EXPECT_EQ(first->bytes, second->bytes);
  EXPECT_EQ(first->symbols, second->symbols);
}

TEST_F(LinkTest, RefusesReferencesToLaterObjects) {
  auto image = Link({kMain, kScale}, {"main_entry"});
  ASSERT_FALSE(image.ok());
  EXPECT_EQ(image.status().message(), "link: object 0 refers to a later one");
}

TEST_F(LinkTest, RefusesAnObjectThatDefinesNothing) {
  auto image = Link({kScale, ""}, {"scale"});
  ASSERT_FALSE(image.ok());
  EXPECT_EQ(image.status().message(), "link: object 1 defines nothing");
}

TEST_F(LinkTest, NamesUndefinedSymbol) {
  auto image = Link({kMain}, {"main_entry"});
  ASSERT_FALSE(image.ok());
  EXPECT_EQ(image.status().code(), absl::StatusCode::kInternal);
  EXPECT_THAT(std::string(image.status().message()), AllOf(HasSubstr("pick"), HasSubstr("not found")));
}

TEST_F(LinkTest, NamesSymbolDefinedTwice) {
  auto image = Link({kScale, kScale}, {"scale"});
  ASSERT_FALSE(image.ok());
  EXPECT_THAT(std::string(image.status().message()), HasSubstr("Duplicate definition of symbol '"));
}

TEST_F(LinkTest, NamesMissingEntry) {
  auto image = Link({kScale}, {"tailor_run"});
  ASSERT_FALSE(image.ok());
  EXPECT_THAT(std::string(image.status().message()), HasSubstr("entry tailor_run is undefined"));
}

TEST_F(LinkTest, RefusesAddressesInTheImage) {
  auto image = Link({R"(
define void @f() { ret void }
@pointer = constant ptr @f
)"},
                    {"f"});
  ASSERT_FALSE(image.ok());
  EXPECT_THAT(std::string(image.status().message()), HasSubstr(".data.rel.ro"));
}

TEST_F(LinkTest, RefusesWritableData) {
  auto image = Link({"@counter = global i32 7"}, {});
  ASSERT_FALSE(image.ok());
  EXPECT_THAT(std::string(image.status().message()), HasSubstr("section .data is writable"));
}

}  // namespace
}  // namespace tailor
