#include "analysis/reshape_groups.h"

#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "tests/analysis/parsed_facts.h"

namespace tailor {
namespace {

// "{B | B} {S, 1 | S}" over B, S, M = B*S, and T*U = B*S.
std::string Groups(const std::vector<std::string>& from, const std::vector<std::string>& to) {
  static const auto* f = new ParsedFacts(R"(
graph @g(%x: f32[B, S], %y: f32[T, U]) where B in [1, 64], M, M == B*S, B*S == T*U {
  return %x, %y
}
)");
  std::vector<std::string> groups;
  for (const ReshapeGroup& g : MatchReshape(f->Dims(from), f->Dims(to), f->facts)) {
    std::vector<std::string> lhs(from.begin() + g.from_begin, from.begin() + g.from_end);
    std::vector<std::string> rhs(to.begin() + g.to_begin, to.begin() + g.to_end);
    groups.push_back(absl::StrCat("{", absl::StrJoin(lhs, ", "), " | ", absl::StrJoin(rhs, ", "), "}"));
  }
  return absl::StrJoin(groups, " ");
}

TEST(ReshapeGroups, SplitsAndMerges) {
  EXPECT_EQ(Groups({"B", "S", "384"}, {"B", "S", "12", "32"}), "{B | B} {S | S} {384 | 12, 32}");
  EXPECT_EQ(Groups({"B", "S", "12", "32"}, {"B", "S", "384"}), "{B | B} {S | S} {12, 32 | 384}");
  EXPECT_EQ(Groups({"4", "6"}, {"8", "3"}), "{4, 6 | 8, 3}");
  EXPECT_EQ(Groups({"2", "S", "3"}, {"S", "6"}), "{2, S, 3 | S, 6}");
}

TEST(ReshapeGroups, SymbolicProducts) {
  EXPECT_EQ(Groups({"B", "S", "384"}, {"M", "384"}), "{B, S | M} {384 | 384}");
  EXPECT_EQ(Groups({"T", "U", "384"}, {"B", "S", "12", "32"}), "{T, U | B, S} {384 | 12, 32}");
  EXPECT_EQ(Groups({"4*S"}, {"2", "S", "2"}), "{4*S | 2, S, 2}");
}

TEST(ReshapeGroups, SizeOneDimsStandAlone) {
  EXPECT_EQ(Groups({"B", "S"}, {"B", "1", "1", "S"}), "{B | B} { | 1} { | 1} {S | S}");
  EXPECT_EQ(Groups({"S", "1"}, {"1", "S"}), "{ | 1} {S | S} {1 | }");
  EXPECT_EQ(Groups({"1", "S"}, {"1", "S"}), "{1 | 1} {S | S}");
}

TEST(ReshapeGroups, Scalars) {
  EXPECT_EQ(Groups({}, {}), "");
  EXPECT_EQ(Groups({}, {"1", "1"}), "{ | 1} { | 1}");
  EXPECT_EQ(Groups({"1"}, {}), "{1 | }");
}

TEST(ReshapeGroups, WhatIsNotProvedIsOneGroup) {
  EXPECT_EQ(Groups({"B", "S"}, {"S", "T"}), "{B, S | S, T}");
  EXPECT_EQ(Groups({"0", "S"}, {"0", "T"}), "{0 | 0} {S | T}");
}

}  // namespace
}  // namespace tailor
