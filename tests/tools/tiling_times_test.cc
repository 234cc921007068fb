#include "tools/tune/tiling_times.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace tailor::tune {
namespace {

using testing::ElementsAre;

constexpr char kText[] = "m,n,k,rule,6x4\n1,768,300,1250.5,2000\n17,64,64,3e+06,0.5\n";

TEST(TilingTimes, SurviveTheirText) {
  TilingTimes times;
  ASSERT_EQ(ParseTilingTimes(kText, &times), "");
  EXPECT_THAT(times.tilings, ElementsAre("rule", "6x4"));
  EXPECT_EQ(times.sizes[1].m, 17);
  EXPECT_EQ(times.sizes[0].k, 300);
  EXPECT_THAT(times.times, ElementsAre(ElementsAre(1250.5, 2000), ElementsAre(3e6, 0.5)));
  EXPECT_EQ(TilingTimesText(times), kText);
}

TEST(TilingTimes, AppendWhatHasTheSameTilings) {
  TilingTimes times;
  ASSERT_EQ(ParseTilingTimes(kText, &times), "");
  ASSERT_EQ(ParseTilingTimes(kText, &times), "");
  EXPECT_EQ(times.sizes.size(), 4);
  EXPECT_EQ(ParseTilingTimes("m,n,k,rule,5x4\n", &times), "line 1: other tilings than in the times before");
}

TEST(TilingTimes, NameMistakesAndKeepWhatTheyHave) {
  TilingTimes times;
  ASSERT_EQ(ParseTilingTimes(kText, &times), "");
  for (const auto& [text, wrong] : {std::pair<std::string, std::string>{"", "line 1: begins with"},
                                    {"n,m,k,rule,6x4\n", "line 1: begins with"},
                                    {"m,n,k,rule,6x4\n1,2,3,4\n", "line 2: three dim sizes and a time for each tiling"},
                                    {"m,n,k,rule,6x4\n1,2,3,4,5\n1,0,3,4,5\n", "line 3: \"0\" is no dim size"},
                                    {"m,n,k,rule,6x4\n1,2.5,3,4,5\n", "line 2: \"2.5\" is no dim size"},
                                    {"m,n,k,rule,6x4\n1,2,3,-4,5\n", "line 2: \"-4\" is no time"},
                                    {"m,n,k,rule,6x4\n1,2,3,4,inf\n", "line 2: \"inf\" is no time"}}) {
    TilingTimes fresh;
    EXPECT_THAT(ParseTilingTimes(text, &fresh), testing::StartsWith(wrong)) << text;
    EXPECT_TRUE(fresh.tilings.empty());
    if (!text.empty()) EXPECT_NE(ParseTilingTimes(text, &times), "");
    EXPECT_EQ(TilingTimesText(times), kText);
  }
}

}  // namespace
}  // namespace tailor::tune
