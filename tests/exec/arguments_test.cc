#include "exec/arguments.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <climits>
#include <cstring>

#include "tests/exec/sample_tensors.h"
#include "tests/support/sample_program.h"

namespace tailor {
namespace {

class ArgumentsTest : public testing::Test {
 protected:
  std::string SetInputs(InputUse use = InputUse::kDense) {
    return Text(arguments_.SetInputs(Inputs(buffers_.inputs), use));
  }
  std::string SetOutputs(OutputUse use = OutputUse::kNeedData) {
    return Text(arguments_.SetOutputs(Outputs(buffers_.outputs), use));
  }
  Tensor& x() { return buffers_.inputs[0]; }
  Tensor& y() { return buffers_.outputs[0]; }

  // Input x is donated, and output y in its memory.
  void Donate() {
    program_.inputs[0].donated = true;
    program_.outputs[0].memory_of = 0;
  }

  Program program_ = SampleProgram();
  const Allocator allocator_;
  std::vector<GrowingBuffer> provided_;
  Arguments arguments_{program_, allocator_};
  SampleBuffers buffers_{3};
};

TEST_F(ArgumentsTest, PassesDataAndDimsOn) {
  ASSERT_EQ(SetInputs(), "OK");
  ASSERT_EQ(SetOutputs(), "OK");
  EXPECT_EQ(arguments_.in()[0].data, buffers_.x.data());
  EXPECT_EQ(arguments_.in()[0].dims[0], 3);
  EXPECT_EQ(arguments_.in()[0].dims[1], 4);
  EXPECT_EQ(arguments_.in()[1].dims[0], 3);
  EXPECT_EQ(arguments_.output(0).data, buffers_.y.data());
  EXPECT_EQ(arguments_.output(0).dims[1], 4);
  EXPECT_EQ(Text(arguments_.CheckOverlap(provided_)), "OK");
}

TEST_F(ArgumentsTest, OnTheHostTensorsAreInItsMemory) {
  x().device = kDeviceMemory;
  EXPECT_EQ(SetInputs(), "3: input \"x\": device is 1, but the executable runs on the CPU");
  x().device = 7;
  EXPECT_EQ(SetInputs(), "3: input \"x\": device is 7, not 0 or 1");
  x().device = kHostMemory;
  ASSERT_EQ(SetInputs(), "OK");
  y().device = kDeviceMemory;
  EXPECT_EQ(SetOutputs(), "3: output \"y\": device is 1, but the executable runs on the CPU");
}

// A caller built against a header without `device` has the next tensor there.
TEST_F(ArgumentsTest, TensorsMayEndBeforeTheirDevice) {
  alignas(Tensor) std::byte packed[2 * kLeastTensorBytes];
  for (size_t i = 0; i < 2; ++i) std::memcpy(&packed[i * kLeastTensorBytes], &buffers_.inputs[i], kLeastTensorBytes);
  const InputList inputs(reinterpret_cast<const Tensor*>(packed), 2, kLeastTensorBytes);
  EXPECT_EQ(inputs.device(0), kHostMemory);
  ASSERT_EQ(Text(arguments_.SetInputs(inputs, InputUse::kDense)), "OK");
  EXPECT_EQ(arguments_.in()[1].data, buffers_.mask.data());
}

TEST_F(ArgumentsTest, CountsTensors) {
  buffers_.inputs.pop_back();
  EXPECT_EQ(SetInputs(), "3: 1 inputs given, expected 2");
  buffers_.outputs.clear();
  EXPECT_EQ(SetOutputs(), "3: 0 outputs given, expected 2");
}

// The product of the inner dim sizes is 2^64, which is 0 in 64 bits.
TEST_F(ArgumentsTest, StridesOfDimSizesBeyondInt64AreNotDense) {
  program_.outputs[0].dims.push_back(program_.outputs[0].dims[0]);
  Arguments arguments(program_, allocator_);
  y().rank = 3;
  const int64_t dims[] = {kOpenDimSize, int64_t{1} << 32, int64_t{1} << 32};
  std::copy_n(dims, 3, y().dims);
  const int64_t strides[] = {0, int64_t{1} << 32, 1};
  y().strides = strides;
  EXPECT_EQ(Text(arguments.SetOutputs(Outputs(buffers_.outputs), OutputUse::kNeedData)),
            "3: output \"y\": it is strided, but must be dense row-major");
}

// Of a dim size that the run is to tell, nobody knows the stride outside it.
TEST_F(ArgumentsTest, StridesOutsideAnOpenDimSizeAreNotDense) {
  y().dims[1] = kOpenDimSize;
  const int64_t strides[] = {-1, 1};
  y().strides = strides;
  EXPECT_EQ(SetOutputs(), "3: output \"y\": it is strided, but must be dense row-major");
}

TEST_F(ArgumentsTest, NamesTheInputWithTheWrongType) {
  x().dtype = static_cast<int32_t>(DType::kF64);
  EXPECT_EQ(SetInputs(), "3: input \"x\": dtype is f64, expected f32");
  x().dtype = 77;
  EXPECT_EQ(SetInputs(), "3: input \"x\": dtype is unknown (77), expected f32");
  x().dtype = -1;
  EXPECT_EQ(SetInputs(), "3: input \"x\": dtype is unknown (-1), expected f32");
}

TEST_F(ArgumentsTest, NamesTheInputWithTheWrongShape) {
  x().rank = 3;
  EXPECT_EQ(SetInputs(), "3: input \"x\": rank is 3, expected 2");
  x().rank = -1;
  EXPECT_EQ(SetInputs(), "3: input \"x\": rank is -1, expected 2");
  x().rank = 2;
  x().dims[0] = -5;
  EXPECT_EQ(SetInputs(), "3: input \"x\": dim 0 is negative: -5");
  x().dims[0] = INT64_MAX / 8;
  EXPECT_EQ(SetInputs(), "3: input \"x\": its size in bytes does not fit 63 bits");
}

TEST_F(ArgumentsTest, AHugeDimBesideAZeroOneIsEmpty) {
  x().dims[0] = INT64_MAX;
  x().dims[1] = 0;
  x().data = nullptr;
  x().data_bytes = 0;
  EXPECT_EQ(SetInputs(), "OK");
  EXPECT_NE(arguments_.in()[0].data, nullptr);
}

TEST_F(ArgumentsTest, NamesTheInputWithTheWrongData) {
  x().data_bytes = 47;
  EXPECT_EQ(SetInputs(), "3: input \"x\": data_bytes is 47, its dims need 48");
  x().data_bytes = 48;
  x().data = reinterpret_cast<char*>(buffers_.x.data()) + 2;
  EXPECT_EQ(SetInputs(), "3: input \"x\": data is not aligned to 4 bytes");
  x().data = nullptr;
  EXPECT_EQ(SetInputs(), "3: input \"x\": data is null");
  EXPECT_EQ(SetInputs(InputUse::kShapesOnly), "OK");
}

TEST_F(ArgumentsTest, NamesTheOutputWithTheWrongTensor) {
  y().dtype = 1;
  EXPECT_EQ(SetOutputs(), "3: output \"y\": dtype is bool, expected f32");
  y().dtype = static_cast<int32_t>(DType::kF32);
  y().data_bytes = 8;
  EXPECT_EQ(SetOutputs(), "3: output \"y\": data_bytes is 8, its dims need 48");
  const int64_t strides[] = {1, 3};
  y().data_bytes = 48;
  y().strides = strides;
  EXPECT_EQ(SetOutputs(), "3: output \"y\": it is strided, but must be dense row-major");
}

TEST_F(ArgumentsTest, OutputsWithoutDataAreProvidedWhereThatIsAllowed) {
  y() = {};
  EXPECT_EQ(SetOutputs(OutputUse::kMayProvide), "OK");
  EXPECT_EQ(arguments_.output(0).data, nullptr);
  y() = TensorOf(nullptr, 0, DType::kF32, {3, 4});
  EXPECT_EQ(SetOutputs(OutputUse::kNeedData), "3: output \"y\": data is null");
  y() = {};
  EXPECT_EQ(SetOutputs(OutputUse::kNeedData), "3: output \"y\": data is null");
  y() = TensorOf(nullptr, 0, DType::kF32, {0, 4});
  EXPECT_EQ(SetOutputs(OutputUse::kNeedData), "OK");
  EXPECT_NE(arguments_.output(0).data, nullptr);
}

TEST_F(ArgumentsTest, DenseStridesAreDense) {
  const int64_t strides[] = {4, 1};
  x().strides = strides;
  EXPECT_EQ(SetInputs(), "OK");
  const int64_t meaningless[] = {12345, 1};
  x() = TensorOf(buffers_.x.data(), 16, DType::kF32, {1, 4});
  x().strides = meaningless;
  EXPECT_EQ(SetInputs(), "OK");
}

TEST_F(ArgumentsTest, StridedInputsAreRefusedOrCopied) {
  const int64_t transposed[] = {1, 3};
  x().strides = transposed;
  EXPECT_EQ(SetInputs(), "3: input \"x\": it is strided, but must be dense row-major (or set copy_strided)");
  ASSERT_EQ(SetInputs(InputUse::kCopyStrided), "OK");
  arguments_.CopyInputs();
  const auto* copy = static_cast<const float*>(arguments_.in()[0].data);
  ASSERT_NE(copy, buffers_.x.data());
  for (int i = 0; i < 3; ++i) {
    for (int j = 0; j < 4; ++j) EXPECT_EQ(copy[4 * i + j], buffers_.x[i + 3 * j]);
  }
  buffers_.x[0] = 42;
  arguments_.CopyInputs();
  EXPECT_EQ(copy[0], 42);
}

TEST_F(ArgumentsTest, AStrideOfZeroRepeats) {
  const int64_t repeated[] = {0, 1};
  x().strides = repeated;
  x().data_bytes = 16;
  ASSERT_EQ(SetInputs(InputUse::kCopyStrided), "OK");
  arguments_.CopyInputs();
  const auto* copy = static_cast<const float*>(arguments_.in()[0].data);
  for (int i = 0; i < 12; ++i) EXPECT_EQ(copy[i], buffers_.x[i % 4]);
}

TEST_F(ArgumentsTest, StridesStayInsideTheData) {
  int64_t strides[] = {8, 1};
  x().strides = strides;
  EXPECT_EQ(SetInputs(InputUse::kCopyStrided), "3: input \"x\": data_bytes is 48, its dims need 80");
  strides[0] = -8;
  EXPECT_EQ(SetInputs(InputUse::kCopyStrided), "3: input \"x\": data_bytes is 48, its dims need 80");
  for (const int64_t large : {INT64_MAX / 2, INT64_MAX / 8 + 1, INT64_MIN / 2, INT64_MIN / 8, INT64_MIN}) {
    strides[0] = large;
    EXPECT_EQ(SetInputs(InputUse::kCopyStrided), "3: input \"x\": a stride is too large");
  }
  const int64_t apart[] = {INT64_MAX / 4, INT64_MIN / 4};
  x().strides = apart;
  EXPECT_EQ(SetInputs(InputUse::kCopyStrided), "3: input \"x\": a stride is too large");
}

TEST_F(ArgumentsTest, NegativeStridesReadBackwards) {
  const int64_t backwards[] = {-4, -1};
  x().strides = backwards;
  x().data = buffers_.x.data() + 11;
  EXPECT_EQ(SetInputs(), "3: input \"x\": it is strided, but must be dense row-major (or set copy_strided)");
  ASSERT_EQ(SetInputs(InputUse::kCopyStrided), "OK");
  arguments_.CopyInputs();
  const auto* copy = static_cast<const float*>(arguments_.in()[0].data);
  for (int i = 0; i < 12; ++i) EXPECT_EQ(copy[i], buffers_.x[11 - i]);
  // Its memory begins before `data`.
  y().data = buffers_.x.data();
  ASSERT_EQ(SetOutputs(), "OK");
  EXPECT_EQ(Text(arguments_.CheckOverlap(provided_)), "3: output \"y\": it overlaps input \"x\"");
}

TEST_F(ArgumentsTest, OutputsOverlapNothing) {
  buffers_.x.resize(64);
  x().data = buffers_.x.data();
  y().data = buffers_.x.data() + 11;  // shares x's last element
  ASSERT_EQ(SetInputs(), "OK");
  ASSERT_EQ(SetOutputs(), "OK");
  EXPECT_EQ(Text(arguments_.CheckOverlap(provided_)), "3: output \"y\": it overlaps input \"x\"");
  y().data = buffers_.x.data() + 12;
  ASSERT_EQ(SetOutputs(), "OK");
  EXPECT_EQ(Text(arguments_.CheckOverlap(provided_)), "OK");
  buffers_.outputs[1].data = buffers_.x.data() + 12 + 11;
  ASSERT_EQ(SetOutputs(), "OK");
  EXPECT_EQ(Text(arguments_.CheckOverlap(provided_)), "3: output \"total\": it overlaps output \"y\"");
  y().data = buffers_.x.data();
  y().data_bytes = UINT64_MAX;
  y().dims[0] = kOpenDimSize;
  ASSERT_EQ(SetOutputs(), "OK");
  EXPECT_EQ(Text(arguments_.CheckOverlap(provided_)), "3: output \"y\": it overlaps input \"x\"");
}

TEST_F(ArgumentsTest, StridedInputsOverlapWhereTheirOwnMemoryIs) {
  const int64_t transposed[] = {1, 3};
  x().strides = transposed;
  ASSERT_EQ(SetInputs(InputUse::kCopyStrided), "OK");
  y().data = buffers_.x.data();
  ASSERT_EQ(SetOutputs(), "OK");
  EXPECT_EQ(Text(arguments_.CheckOverlap(provided_)), "3: output \"y\": it overlaps input \"x\"");
}

TEST_F(ArgumentsTest, AnOutputInTheMemoryOfAnInputGoesThere) {
  Donate();
  ASSERT_EQ(SetInputs(), "OK");
  y() = {};
  ASSERT_EQ(SetOutputs(OutputUse::kMayProvide), "OK");
  EXPECT_EQ(arguments_.output(0).data, buffers_.x.data());
  EXPECT_EQ(arguments_.output(0).capacity, 48u);
  EXPECT_EQ(arguments_.output(0).dims[0], kOpenDimSize);
  EXPECT_FALSE(arguments_.output(0).given);
  EXPECT_EQ(Text(arguments_.CheckOverlap(provided_)), "OK");
  y() = x();
  ASSERT_EQ(SetOutputs(), "OK");
  EXPECT_TRUE(arguments_.output(0).given);
  EXPECT_EQ(Text(arguments_.CheckOverlap(provided_)), "OK");
  y().data = buffers_.y.data();
  EXPECT_EQ(SetOutputs(), "3: output \"y\": it is in the memory of donated input \"x\": its data must be that input's");
  EXPECT_EQ(SetOutputs(OutputUse::kMayProvide),
            "3: output \"y\": it is in the memory of donated input \"x\": its data must be null or that input's");
}

TEST_F(ArgumentsTest, ADonatedInputOverlapsNothingElse) {
  Donate();
  buffers_.inputs[1].data = reinterpret_cast<char*>(buffers_.x.data()) + 4;
  ASSERT_EQ(SetInputs(), "OK");
  y() = {};
  ASSERT_EQ(SetOutputs(OutputUse::kMayProvide), "OK");
  EXPECT_EQ(Text(arguments_.CheckOverlap(provided_)), "3: input \"x\": it is donated, but overlaps input \"mask\"");
  buffers_.inputs[1].data = buffers_.mask.data();
  buffers_.outputs[1].data = reinterpret_cast<char*>(buffers_.x.data()) + 4;
  ASSERT_EQ(SetInputs(), "OK");
  ASSERT_EQ(SetOutputs(OutputUse::kMayProvide), "OK");
  EXPECT_EQ(Text(arguments_.CheckOverlap(provided_)), "3: output \"total\": it overlaps input \"x\"");
}

TEST_F(ArgumentsTest, ADonatedInputIsDense) {
  Donate();
  const int64_t strides[] = {1, 3};
  x().strides = strides;
  EXPECT_EQ(SetInputs(InputUse::kCopyStrided), "3: input \"x\": it is donated, so it must be dense row-major");
}

}  // namespace
}  // namespace tailor
