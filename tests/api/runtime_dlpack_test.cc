// DLPack tensors as arguments and results, on the CPU and on the emulated GPU.
#include <gtest/gtest.h>

#include <cstdlib>
#include <memory>
#include <vector>

#include "api/dlpack.h"
#include "tests/api/runtime_fixture.h"
#include "tests/emulator/fake_driver.h"
#include "tests/support/sample_device_program.h"

namespace tailor {
namespace {

using dlpack::kCpu;
using dlpack::kCuda;
using dlpack::kCudaHost;
using dlpack::kFloat;

// A tensor that another library keeps.
template <typename Managed>
struct Foreign {
  Managed managed = {};
  std::vector<int64_t> dims, strides;
  Foreign(void* data, dlpack::DlDevice device, std::vector<int64_t> dim_sizes, std::vector<int64_t> steps = {})
      : dims(std::move(dim_sizes)), strides(std::move(steps)) {
    managed.tensor = {data,
                      device,
                      static_cast<int32_t>(dims.size()),
                      {kFloat, 32, 1},
                      dims.data(),
                      strides.empty() ? nullptr : strides.data(),
                      0};
  }
};

template <typename Managed>
struct CallDeleter {
  void operator()(Managed* managed) const { managed->deleter(managed); }
};
using Given = std::unique_ptr<DLManagedTensor, CallDeleter<DLManagedTensor>>;
using GivenVersioned = std::unique_ptr<DLManagedTensorVersioned, CallDeleter<DLManagedTensorVersioned>>;

class DlpackTest : public testing::TestWithParam<int32_t> {
 protected:
  static void SetUpTestSuite() { setenv("TAILOR_CUDA_DRIVER", TAILOR_FAKE_CUDA_LIBRARY, 1); }
  ~DlpackTest() override { EXPECT_STREQ(tailor_fake_cuda_complaints(), ""); }

  static ExecutableHandle Load(int32_t device) {
    static const AlignedBytes bytes = ArtifactOf(SampleDeviceProgram());
    tailor_load_options options;
    tailor_load_options_init(&options);
    options.device = device;
    tailor_executable* executable = nullptr;
    EXPECT_EQ(Text(tailor_executable_load_memory(nullptr, bytes.data(), bytes.size(), &options, nullptr, nullptr,
                                                 &executable)),
              "OK");
    return ExecutableHandle(executable);
  }
  std::string Describe(const Foreign<DLManagedTensor>& foreign, tailor_tensor* out) {
    tailor_tensor_init(out);
    return Text(tailor_tensor_from_dlpack(executable_.get(), &foreign.managed, out));
  }
  // What is said of the sample's x where `change` has been done to it.
  template <typename Change>
  std::string ProblemAfter(Change change) {
    Foreign<DLManagedTensor> x(call_.x.data(), {kCpu, 0}, {5, 4});
    change(x.managed.tensor);
    tailor_tensor out;
    const std::string said = Describe(x, &out);
    EXPECT_EQ(out.rank, 0) << "touched";
    return said;
  }

  const bool on_device_ = GetParam() == TAILOR_DEVICE_CUDA;
  const ExecutableHandle executable_ = Load(GetParam());
  SampleCall call_{5};
};

TEST_P(DlpackTest, TensorsOfTheHostAreArguments) {
  Foreign<DLManagedTensor> x(call_.x.data() - 4, {kCpu, 0}, {5, 4}, {4, 1});
  x.managed.tensor.byte_offset = 16;
  Foreign<DLManagedTensorVersioned> mask(call_.mask.data(), {kCudaHost, 0}, {5});
  mask.managed.major = 1;
  ASSERT_EQ(Describe(x, &call_.inputs[0]), "OK");
  EXPECT_EQ(call_.inputs[0].data, call_.x.data());
  EXPECT_EQ(call_.inputs[0].data_bytes, 80u);
  ASSERT_EQ(Text(tailor_tensor_from_dlpack_versioned(executable_.get(), &mask.managed, &call_.inputs[1])), "OK");
  const SessionHandle session = MakeSession(executable_.get());
  EXPECT_EQ(call_.Run(session.get()), "OK");
  call_.ExpectResults();
}

TEST_P(DlpackTest, StridesAreTold) {
  Foreign<DLManagedTensor> x(call_.x.data(), {kCpu, 0}, {5, 4}, {1, 5});
  ASSERT_EQ(Describe(x, &call_.inputs[0]), "OK");
  EXPECT_EQ(call_.inputs[0].data_bytes, 80u);
  const SessionHandle session = MakeSession(executable_.get());
  EXPECT_EQ(call_.Run(session.get()),
            "3: input \"x\": it is strided, but must be dense row-major (or set copy_strided)");
}

TEST_P(DlpackTest, StridedTensorsAreCopiedWhereAllowed) {
  tailor_session_options options;
  tailor_session_options_init(&options);
  options.copy_strided = 1;
  const SessionHandle session = MakeSession(executable_.get(), &options);
  std::vector<float> backwards(call_.x.rbegin(), call_.x.rend());
  std::vector<float> sparse(2 * call_.x.size());
  for (size_t i = 0; i < call_.x.size(); ++i) sparse[2 * i] = call_.x[i];
  Foreign<DLManagedTensor> reversed(&backwards.back(), {kCpu, 0}, {5, 4}, {-4, -1});
  Foreign<DLManagedTensor> every_second(sparse.data(), {kCpu, 0}, {5, 4}, {8, 2});
  for (auto* x : {&reversed, &every_second}) {
    ASSERT_EQ(Describe(*x, &call_.inputs[0]), "OK");
    EXPECT_EQ(call_.inputs[0].data_bytes, x == &reversed ? 80u : 156u);
    ASSERT_EQ(call_.Run(session.get()), "OK");
    call_.ExpectResults();
  }
}

TEST_P(DlpackTest, FieldsThatCannotBeAreNamed) {
  EXPECT_EQ(ProblemAfter([](dlpack::DlTensor& t) { t.rank = 9; }),
            "3: tailor_tensor_from_dlpack: ndim is 9, not 0 to 8");
  EXPECT_EQ(ProblemAfter([](dlpack::DlTensor& t) { t.dims = nullptr; }), "3: tailor_tensor_from_dlpack: shape is null");
  EXPECT_EQ(ProblemAfter([](dlpack::DlTensor& t) { t.dtype.lanes = 4; }),
            "3: tailor_tensor_from_dlpack: dtype.lanes is 4, not 1");
  EXPECT_EQ(ProblemAfter([](dlpack::DlTensor& t) {
              t.dtype = {5, 64, 1};
            }),
            "3: tailor_tensor_from_dlpack: dtype.code is 5, with 64 bits, which is no type of Tailor's");
  EXPECT_EQ(ProblemAfter([](dlpack::DlTensor& t) { t.dims[1] = -4; }),
            "3: tailor_tensor_from_dlpack: shape[1] is -4, a negative dim size");
  EXPECT_EQ(ProblemAfter([](dlpack::DlTensor& t) { t.device.type = 10; }),
            "3: tailor_tensor_from_dlpack: device.device_type is 10, not 1 (CPU), 2 (CUDA) or 3 (CUDA's host memory)");
  EXPECT_EQ(ProblemAfter([](dlpack::DlTensor& t) {
              t.device = {kCuda, 1};
            }),
            on_device_ ? "3: tailor_tensor_from_dlpack: device.device_id is 1, but the executable runs on CUDA device 0"
                       : "3: tailor_tensor_from_dlpack: device.device_type is 2, but the executable runs on the CPU");
}

TEST_P(DlpackTest, ParametersAreChecked) {
  Foreign<DLManagedTensor> x(call_.x.data(), {kCpu, 0}, {5, 4});
  Foreign<DLManagedTensorVersioned> newer(call_.x.data(), {kCpu, 0}, {5, 4});
  newer.managed.major = 2;
  tailor_tensor out;
  tailor_tensor_init(&out);
  EXPECT_EQ(Text(tailor_tensor_from_dlpack(nullptr, &x.managed, &out)),
            "3: tailor_tensor_from_dlpack: executable is null");
  EXPECT_EQ(Text(tailor_tensor_from_dlpack(executable_.get(), nullptr, &out)),
            "3: tailor_tensor_from_dlpack: tensor is null");
  EXPECT_EQ(Text(tailor_tensor_from_dlpack(executable_.get(), &x.managed, nullptr)),
            "3: tailor_tensor_from_dlpack: out is null");
  EXPECT_EQ(Text(tailor_tensor_from_dlpack_versioned(executable_.get(), &newer.managed, &out)),
            "3: tailor_tensor_from_dlpack_versioned: tensor has version.major 2, which is not 1");
  EXPECT_EQ(Text(tailor_tensor_from_dlpack_versioned(nullptr, &newer.managed, &out)),
            "3: tailor_tensor_from_dlpack_versioned: executable is null");
  EXPECT_EQ(Text(tailor_tensor_from_dlpack_versioned(executable_.get(), nullptr, &out)),
            "3: tailor_tensor_from_dlpack_versioned: tensor is null");
  const SessionHandle session = MakeSession(executable_.get());
  DLManagedTensor* given = nullptr;
  EXPECT_EQ(Text(tailor_session_take_output(nullptr, 0, nullptr, &given)),
            "3: tailor_session_take_output: session is null");
  EXPECT_EQ(Text(tailor_session_take_output(session.get(), 0, nullptr, nullptr)),
            "3: tailor_session_take_output: out is null");
  EXPECT_EQ(Text(tailor_session_take_output(session.get(), 2, nullptr, &given)),
            "11: tailor_session_take_output: index is 2, but there are 2 outputs");
  DLManagedTensorVersioned* versioned = nullptr;
  EXPECT_EQ(Text(tailor_session_take_output_versioned(session.get(), 0, nullptr, &versioned)),
            "9: tailor_session_take_output_versioned: output \"y\" is none that the session's last run provided");
}

TEST_P(DlpackTest, OutputsOutliveAllHandles) {
  ExecutableHandle executable = Load(GetParam());
  SessionHandle session = MakeSession(executable.get());
  for (tailor_tensor& output : call_.outputs) tailor_tensor_init(&output);
  ASSERT_EQ(call_.Run(session.get()), "OK");
  if (!on_device_) {
    DLManagedTensor* refused = nullptr;
    EXPECT_EQ(Text(tailor_session_take_output(session.get(), 0, &call_, &refused)),
              "3: tailor_session_take_output: stream is given, but the executable runs on the CPU");
  }
  DLManagedTensor* y = nullptr;
  DLManagedTensorVersioned* total = nullptr;
  ASSERT_EQ(Text(tailor_session_take_output(session.get(), 0, nullptr, &y)), "OK");
  ASSERT_EQ(Text(tailor_session_take_output_versioned(session.get(), 1, nullptr, &total)), "OK");
  const Given y_owner(y);
  const GivenVersioned total_owner(total);
  const void* data = y->tensor.data;
  SampleCall next(5, 100);
  for (tailor_tensor& output : next.outputs) tailor_tensor_init(&output);
  ASSERT_EQ(next.Run(session.get()), "OK");
  EXPECT_NE(next.outputs[0].data, data);
  session.reset();
  executable.reset();

  EXPECT_EQ(y->tensor.device.type, on_device_ ? kCuda : kCpu);
  EXPECT_EQ(y->tensor.rank, 2);
  EXPECT_EQ(y->tensor.dims[0], 5);
  EXPECT_EQ(y->tensor.strides[0], 4);
  EXPECT_EQ(y->tensor.strides[1], 1);
  EXPECT_EQ(y->tensor.dtype.code, kFloat);
  EXPECT_EQ(y->tensor.dtype.bits, 32);
  EXPECT_EQ(total->major, 1u);
  EXPECT_EQ(total->flags, 0u);
  std::vector<float> got(20);
  if (on_device_) {
    ASSERT_TRUE(tailor_fake_cuda_peek(got.data(), data, 80));
  } else {
    std::copy_n(static_cast<const float*>(data), 20, got.data());
  }
  EXPECT_EQ(got, call_.want_y);
}

TEST_P(DlpackTest, AnOutputIsTheNextRunsInput) {
  const SessionHandle session = MakeSession(executable_.get());
  SampleCall next(5);
  for (tailor_tensor& output : call_.outputs) tailor_tensor_init(&output);
  ASSERT_EQ(call_.Run(session.get()), "OK");
  DLManagedTensor* y = nullptr;
  ASSERT_EQ(Text(tailor_session_take_output(session.get(), 0, nullptr, &y)), "OK");
  const Given owner(y);
  ASSERT_EQ(Text(tailor_tensor_from_dlpack(executable_.get(), y, &next.inputs[0])), "OK");
  EXPECT_EQ(next.inputs[0].device, on_device_ ? 1 : 0);
  ASSERT_EQ(next.Run(session.get()), "OK");
  for (size_t i = 0; i < 20; ++i) EXPECT_EQ(next.y[i], -call_.want_y[i] * kSampleScale[i % 4]);
}

INSTANTIATE_TEST_SUITE_P(Devices, DlpackTest, testing::Values(TAILOR_DEVICE_CPU, TAILOR_DEVICE_CUDA),
                         [](const auto& info) { return info.param == TAILOR_DEVICE_CPU ? "Cpu" : "Cuda"; });

}  // namespace
}  // namespace tailor
