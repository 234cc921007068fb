#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <thread>

#include "tests/api/runtime_fixture.h"

namespace tailor {
namespace {

TEST(Describe, CountsAndInfos) {
  const ExecutableHandle executable = LoadSample();
  EXPECT_EQ(tailor_executable_input_count(executable.get()), 2u);
  EXPECT_EQ(tailor_executable_output_count(executable.get()), 2u);
  EXPECT_EQ(tailor_executable_symbol_count(executable.get()), 1u);
  tailor_tensor_info info;
  tailor_tensor_info_init(&info);
  ASSERT_EQ(Text(tailor_executable_input(executable.get(), 0, &info)), "OK");
  EXPECT_STREQ(info.name, "x");
  EXPECT_EQ(info.dtype, TAILOR_F32);
  EXPECT_EQ(info.rank, 2);
  EXPECT_EQ(info.extents[0], -1);
  EXPECT_EQ(info.extents[1], 4);
  EXPECT_STREQ(info.dim_texts[0], "N");
  EXPECT_STREQ(info.dim_texts[1], "4");
  ASSERT_EQ(Text(tailor_executable_output(executable.get(), 1, &info)), "OK");
  EXPECT_STREQ(info.name, "total");
  EXPECT_EQ(info.rank, 1);
  tailor_symbol_info symbol;
  tailor_symbol_info_init(&symbol);
  ASSERT_EQ(Text(tailor_executable_symbol(executable.get(), 0, &symbol)), "OK");
  EXPECT_STREQ(symbol.name, "N");
  EXPECT_EQ(symbol.min, 0);
  EXPECT_EQ(symbol.max, 1 << 20);
  EXPECT_EQ(symbol.multiple_of, 1);
}

TEST(Describe, IndicesBeyondTheEndAreOutOfRange) {
  const ExecutableHandle executable = LoadSample();
  tailor_tensor_info info;
  tailor_tensor_info_init(&info);
  EXPECT_EQ(Text(tailor_executable_input(executable.get(), 2, &info)),
            "11: tailor_executable_input: index is 2, but there are 2");
  EXPECT_EQ(Text(tailor_executable_output(executable.get(), 9, &info)),
            "11: tailor_executable_output: index is 9, but there are 2");
  tailor_symbol_info symbol;
  tailor_symbol_info_init(&symbol);
  EXPECT_EQ(Text(tailor_executable_symbol(executable.get(), 1, &symbol)),
            "11: tailor_executable_symbol: index is 1, but there are 1");
  EXPECT_EQ(info.name, nullptr);
}

TEST(Describe, AShorterStructGetsWhatItHasRoomFor) {
  const ExecutableHandle executable = LoadSample();
  tailor_symbol_info symbol;
  tailor_symbol_info_init(&symbol);
  symbol.struct_size = 24;
  symbol.max = -7;
  ASSERT_EQ(Text(tailor_executable_symbol(executable.get(), 0, &symbol)), "OK");
  EXPECT_EQ(symbol.struct_size, 24u);
  EXPECT_STREQ(symbol.name, "N");
  EXPECT_EQ(symbol.max, -7);
}

TEST(Describe, ManyThreadsGetOneText) {
  const ExecutableHandle executable = LoadSample();
  std::vector<const char*> texts(8);
  std::vector<std::thread> threads;
  for (const char*& text : texts) {
    threads.emplace_back([&] { EXPECT_EQ(tailor_executable_describe(executable.get(), &text), nullptr); });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_THAT(texts, testing::Each(texts[0]));
  EXPECT_THAT(texts[0], testing::HasSubstr(R"("graph_name": "sample")"));
  EXPECT_THAT(texts[0], testing::HasSubstr(R"("artifact_bytes": 65600)"));
}

TEST(Executable, TellsItsLaunches) {
  const ExecutableHandle executable = LoadSample();
  ASSERT_EQ(tailor_executable_launch_count(executable.get()), 2u);
  tailor_launch_info info;
  tailor_launch_info_init(&info);
  ASSERT_EQ(Text(tailor_executable_launch(executable.get(), 1, &info)), "OK");
  EXPECT_STREQ(info.kernel, "negate");
  EXPECT_EQ(info.versions, 1u);
  EXPECT_EQ(info.dropped, 1u);
  EXPECT_EQ(info.code, 1u);
  EXPECT_EQ(info.code_bytes, 64u);
  EXPECT_EQ(Text(tailor_executable_launch(executable.get(), 2, &info)),
            "11: tailor_executable_launch: index is 2, but there are 2");
  EXPECT_EQ(tailor_executable_launch_count(nullptr), 0u);
}

}  // namespace
}  // namespace tailor
