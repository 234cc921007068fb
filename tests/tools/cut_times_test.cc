#include "tools/tune/cut_times.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace tailor::tune {
namespace {

using testing::ElementsAre;

constexpr char kText[] = "m,n,k,rule,6x4\n1,768,300,1250.5,2000\n17,64,64,3e+06,0.5\n";

TEST(CutTimes, SurviveTheirText) {
  CutTimes times;
  ASSERT_EQ(ParseCutTimes(kText, &times), "");
  EXPECT_THAT(times.cuts, ElementsAre("rule", "6x4"));
  EXPECT_EQ(times.sizes[1].m, 17);
  EXPECT_EQ(times.sizes[0].k, 300);
  EXPECT_THAT(times.times, ElementsAre(ElementsAre(1250.5, 2000), ElementsAre(3e6, 0.5)));
  EXPECT_EQ(CutTimesText(times), kText);
}

TEST(CutTimes, AppendWhatHasTheSameCuts) {
  CutTimes times;
  ASSERT_EQ(ParseCutTimes(kText, &times), "");
  ASSERT_EQ(ParseCutTimes(kText, &times), "");
  EXPECT_EQ(times.sizes.size(), 4);
  EXPECT_EQ(ParseCutTimes("m,n,k,rule,5x4\n", &times), "line 1: other cuts than in the times before");
}

TEST(CutTimes, NameMistakesAndKeepWhatTheyHave) {
  CutTimes times;
  ASSERT_EQ(ParseCutTimes(kText, &times), "");
  for (const auto& [text, wrong] : {std::pair<std::string, std::string>{"", "line 1: begins with"},
                                    {"n,m,k,rule,6x4\n", "line 1: begins with"},
                                    {"m,n,k,rule,6x4\n1,2,3,4\n", "line 2: three extents and a time for each cut"},
                                    {"m,n,k,rule,6x4\n1,2,3,4,5\n1,0,3,4,5\n", "line 3: \"0\" is no extent"},
                                    {"m,n,k,rule,6x4\n1,2.5,3,4,5\n", "line 2: \"2.5\" is no extent"},
                                    {"m,n,k,rule,6x4\n1,2,3,-4,5\n", "line 2: \"-4\" is no time"},
                                    {"m,n,k,rule,6x4\n1,2,3,4,inf\n", "line 2: \"inf\" is no time"}}) {
    CutTimes fresh;
    EXPECT_THAT(ParseCutTimes(text, &fresh), testing::StartsWith(wrong)) << text;
    EXPECT_TRUE(fresh.cuts.empty());
    if (!text.empty()) EXPECT_NE(ParseCutTimes(text, &times), "");
    EXPECT_EQ(CutTimesText(times), kText);
  }
}

}  // namespace
}  // namespace tailor::tune
