#include "graph/ops.h"

#include <gtest/gtest.h>

#include <set>

namespace tailor {
namespace {

TEST(Ops, NumbersAndSpellingsAreUnique) {
  std::set<int> ids;
  std::set<std::string> texts;
  for (const OpInfo& info : AllOps()) {
    EXPECT_TRUE(ids.insert(static_cast<int>(info.kind)).second) << info.text;
    EXPECT_TRUE(texts.insert(std::string(info.text)).second) << info.text;
    EXPECT_EQ(FindOp(info.text), &info);
    EXPECT_EQ(&InfoOf(info.kind), &info);
  }
  EXPECT_EQ(FindOp("no_such_op"), nullptr);
}

TEST(Ops, ColumnsAreParsed) {
  const OpInfo& slice = InfoOf(OpKind::kSlice);
  EXPECT_EQ(slice.kind_name, "Slice");
  ASSERT_EQ(slice.operands.size(), 1u);
  EXPECT_EQ(slice.operands[0].name, "x");
  EXPECT_FALSE(slice.operands[0].variadic);
  ASSERT_EQ(slice.attributes.size(), 3u);
  EXPECT_EQ(slice.attributes[0].name, "starts");
  EXPECT_EQ(slice.attributes[0].type, AttributeType::kDims);
  EXPECT_FALSE(slice.attributes[0].default_text.has_value());
  EXPECT_EQ(slice.attributes[2].name, "steps");
  EXPECT_EQ(slice.attributes[2].type, AttributeType::kI64s);
  EXPECT_EQ(slice.attributes[2].default_text, "[]");
  EXPECT_EQ(slice.shape, ShapeRule::kSlice);
  EXPECT_EQ(slice.fusion, FusionClass::kView);
  EXPECT_TRUE(InfoOf(OpKind::kConcat).operands[0].variadic);
  EXPECT_EQ(InfoOf(OpKind::kConcat).operands[0].name, "xs");
  EXPECT_TRUE(InfoOf(OpKind::kIota).operands.empty());
}

// The numbers are stored in artifacts and spelled in the C ABI.
TEST(Ops, NumbersStay) {
  EXPECT_EQ(static_cast<int>(OpKind::kInput), 1);
  EXPECT_EQ(static_cast<int>(OpKind::kAdd), 30);
  EXPECT_EQ(static_cast<int>(OpKind::kReduceSum), 60);
  EXPECT_EQ(static_cast<int>(OpKind::kDot), 80);
  EXPECT_EQ(static_cast<int>(OpKind::kWhile), 90);
}

}  // namespace
}  // namespace tailor
