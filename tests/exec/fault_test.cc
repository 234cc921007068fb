#include "exec/fault.h"

#include <gtest/gtest.h>

#include "exec/host_abi.h"
#include "tests/exec/sample_tensors.h"
#include "tests/support/sample_program.h"

namespace tailor {
namespace {

std::string Describe(const Fault& fault) { return Text(DescribeFault(SampleProgram(), fault)); }

TEST(Fault, ChecksSpeakWithTheirValues) {
  EXPECT_EQ(Describe({Fault::Kind::kCheck, 1, 0, 12, 10}),
            "3: input \"mask\" dim 0 is 12, but N is 10 from input \"x\" dim 0 [masked]");
}

TEST(Fault, AMessageMayRepeatOrOmitValues) {
  Program program = SampleProgram();
  program.checks = {{"{rhs}{lhs}{lhs} {lhs {other}", ""}};
  EXPECT_EQ(Text(DescribeFault(program, {Fault::Kind::kCheck, 0, 0, -1, INT64_MIN})),
            "3: -9223372036854775808-1-1 {lhs {other}");
}

TEST(Fault, OverflowIsTheInputsFault) {
  EXPECT_EQ(Describe({Fault::Kind::kCheck, kCheckOverflow, 0, 0, 0}),
            "3: the inputs' dims are too large: a size computed from them leaves 64 bits");
}

TEST(Fault, NamesOutputs) {
  EXPECT_EQ(Describe({Fault::Kind::kOutputDim, 0, 1, 12, 4}), "3: output \"y\" dim 1 is 12, but the result has 4");
  EXPECT_EQ(Describe({Fault::Kind::kOutputBytes, 1, 0, 8, 12}),
            "3: output \"total\": data_bytes is 8, but the result has 12");
  EXPECT_EQ(Describe({Fault::Kind::kOutputMemory, 0, 0, 4096, 0}), "8: output \"y\": no memory for its 4096 bytes");
}

TEST(Fault, NamesTheWorkspace) {
  EXPECT_EQ(Describe({Fault::Kind::kWorkspace, 0, 0, 4096, 0}), "8: no memory for a workspace of 4096 bytes");
}

TEST(Fault, ADevicesRecordIsTakenOnce) {
  int64_t record[4] = {2, 12, 10, 0};
  Fault fault;
  ASSERT_TRUE(TakeFault(record, &fault));
  EXPECT_EQ(Describe(fault), "3: input \"mask\" dim 0 is 12, but N is 10 from input \"x\" dim 0 [masked]");
  fault = {};
  EXPECT_FALSE(TakeFault(record, &fault));
  EXPECT_EQ(fault.kind, Fault::Kind::kNone);
}

TEST(Fault, WhatNobodyExplainedIsInternal) {
  EXPECT_EQ(Describe({}), "13: the compiled program failed without a reason");
  for (int32_t index : {3, -2, INT32_MAX}) {
    EXPECT_EQ(Describe({Fault::Kind::kCheck, index, 0, 0, 0}),
              "13: the compiled program failed a check that it does not list");
  }
}

}  // namespace
}  // namespace tailor
