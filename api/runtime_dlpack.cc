// DLPack: tensors of other libraries as arguments, and outputs as DLPack tensors.
#include <algorithm>
#include <cstdio>
#include <memory>
#include <string>

#include "api/dlpack.h"
#include "api/handle.h"
#include "api/runtime_handles.h"
#include "api/runtime_status.h"
#include "exec/taken_output.h"

using tailor::CheckHandle;
using tailor::CheckPointer;
using tailor::DType;
using tailor::Failure;
using tailor::HandleKind;

namespace {

namespace dlpack = tailor::dlpack;

constexpr uint32_t kMajor = 1, kMinor = 0;

struct Match {
  DType dtype;
  dlpack::TypeCode code;
};
constexpr Match kMatches[] = {
    {DType::kBool, dlpack::kBool}, {DType::kI8, dlpack::kInt},      {DType::kI16, dlpack::kInt},
    {DType::kI32, dlpack::kInt},   {DType::kI64, dlpack::kInt},     {DType::kU8, dlpack::kUInt},
    {DType::kU16, dlpack::kUInt},  {DType::kU32, dlpack::kUInt},    {DType::kU64, dlpack::kUInt},
    {DType::kF16, dlpack::kFloat}, {DType::kBF16, dlpack::kBfloat}, {DType::kF32, dlpack::kFloat},
    {DType::kF64, dlpack::kFloat},
};

dlpack::DataType TypeOf(DType dtype) {
  const auto* found =
      std::find_if(std::begin(kMatches), std::end(kMatches), [&](const Match& m) { return m.dtype == dtype; });
  return {found->code, static_cast<uint8_t>(8 * tailor::SizeOf(dtype)), 1};
}

// kInvalid if there is no such dtype.
DType DTypeOf(const dlpack::DataType& type) {
  for (const Match& match : kMatches) {
    if (match.code == type.code && 8 * tailor::SizeOf(match.dtype) == type.bits) return match.dtype;
  }
  return DType::kInvalid;
}

Failure Bad(const std::string& field, int64_t value, const std::string& expected) {
  return {tailor::Code::kInvalidArgument, field + " is " + std::to_string(value) + ", " + expected, ""};
}

// The tailor_tensor.device of memory on a DLPack device, as seen by the executable.
Failure ReadDevice(const dlpack::DlDevice& device, const tailor::Executable& executable, int64_t* out) {
  if (device.type == dlpack::kCpu || device.type == dlpack::kCudaHost) return *out = tailor::kHostMemory, Failure{};
  if (device.type != dlpack::kCuda) {
    return Bad("device.device_type", device.type, "not 1 (CPU), 2 (CUDA) or 3 (CUDA's host memory)");
  }
  if (executable.device() == nullptr)
    return Bad("device.device_type", device.type, "but the executable runs on the CPU");
  if (device.ordinal != executable.device()->ordinal()) {
    return Bad("device.device_id", device.ordinal,
               "but the executable runs on CUDA device " + std::to_string(executable.device()->ordinal()));
  }
  *out = tailor::kDeviceMemory;
  return {};
}

// Bytes from the lowest to the end of the highest element.
uint64_t SpannedBytes(const tailor_tensor& tensor, int size) {
  uint64_t count = 1;
  uint64_t dense = 1;
  for (int32_t i = tensor.rank - 1; i >= 0; --i) {
    if (tensor.dims[i] == 0) return 0;
    const auto stride = tensor.strides != nullptr ? static_cast<uint64_t>(tensor.strides[i]) : dense;
    const bool backwards = tensor.strides != nullptr && tensor.strides[i] < 0;
    count += static_cast<uint64_t>(tensor.dims[i] - 1) * (backwards ? -stride : stride);
    dense *= static_cast<uint64_t>(tensor.dims[i]);
  }
  return count * static_cast<uint64_t>(size);
}

Failure Read(const dlpack::DlTensor& from, const tailor::Executable& executable, tailor_tensor* out) {
  if (from.rank < 0 || from.rank > TAILOR_MAX_RANK) {
    return Bad("ndim", from.rank, "not 0 to " + std::to_string(TAILOR_MAX_RANK));
  }
  if (from.rank > 0 && from.dims == nullptr) return {tailor::Code::kInvalidArgument, "shape is null", ""};
  if (from.dtype.lanes != 1) return Bad("dtype.lanes", from.dtype.lanes, "not 1");
  const DType dtype = DTypeOf(from.dtype);
  if (dtype == DType::kInvalid) {
    return Bad("dtype.code", from.dtype.code,
               "with " + std::to_string(from.dtype.bits) + " bits, which is no type of Tailor's");
  }
  tailor_tensor tensor;
  tailor_tensor_init(&tensor);
  if (Failure f = ReadDevice(from.device, executable, &tensor.device); !f.ok()) return f;
  for (int32_t i = 0; i < from.rank; ++i) {
    if (from.dims[i] < 0) return Bad("shape[" + std::to_string(i) + "]", from.dims[i], "a negative dim size");
    tensor.dims[i] = from.dims[i];
  }
  tensor.rank = from.rank;
  tensor.dtype = static_cast<int32_t>(dtype);
  tensor.strides = from.strides;
  tensor.data = from.data == nullptr ? nullptr : static_cast<std::byte*>(from.data) + from.byte_offset;
  tensor.data_bytes = SpannedBytes(tensor, tailor::SizeOf(dtype));
  *out = tensor;
  return {};
}

tailor_status* Describe(const char* function, const tailor_executable* executable, const dlpack::DlTensor& from,
                        tailor_tensor* out) {
  if (auto* bad = CheckPointer(function, "out", out)) return bad;
  tailor_tensor tensor;
  auto* bad = tailor::Guarded([&] {
    Failure f = Read(from, *executable->executable, &tensor);
    if (!f.ok()) f.message = function + std::string(": ") + f.message;
    return f;
  });
  return bad != nullptr ? bad : tailor::WriteInfo(function, tensor, out);
}

// An output as `Managed`, its first member: a pointer to that is a pointer to the whole.
template <typename Managed>
struct Given {
  Managed managed = {};
  const tailor_executable* executable = nullptr;  // one reference; owns the memory's allocator
  std::unique_ptr<tailor::TakenOutput> output;
  int64_t strides[TAILOR_MAX_RANK];

  ~Given() {
    output.reset();
    tailor_executable_release(const_cast<tailor_executable*>(executable));
  }
};

void SetVersion(DLManagedTensor*) {}
void SetVersion(DLManagedTensorVersioned* managed) {
  managed->major = kMajor;
  managed->minor = kMinor;
}

template <typename Managed>
Managed* Give(const tailor_executable* executable, std::unique_ptr<Given<Managed>> given,
              std::unique_ptr<tailor::TakenOutput> output) {
  tailor_executable_retain(executable);
  given->executable = executable;
  given->output = std::move(output);
  tailor::TakenOutput& taken = *given->output;
  int64_t dense = 1;
  for (size_t i = taken.dims.size(); i-- > 0; dense *= taken.dims[i]) given->strides[i] = dense;
  const bool on_device = taken.device == tailor::kDeviceMemory;
  SetVersion(&given->managed);
  given->managed.tensor = {
      taken.data,
      {on_device ? dlpack::kCuda : dlpack::kCpu, on_device ? executable->executable->device()->ordinal() : 0},
      static_cast<int32_t>(taken.dims.size()),
      TypeOf(taken.dtype),
      taken.dims.data(),
      given->strides,
      0};
  given->managed.deleter = [](Managed* self) { delete reinterpret_cast<Given<Managed>*>(self); };
  return &given.release()->managed;
}

template <typename Managed>
tailor_status* Take(const char* function, tailor_session* session, size_t index, void* stream, Managed** out) {
  if (auto* bad = CheckHandle(function, "session", session, HandleKind::kSession)) return bad;
  const tailor::Writer<tailor_session> writer(*session);
  if (auto* bad = tailor::CheckHeld(function, session, writer)) return bad;
  if (auto* bad = CheckPointer(function, "out", out)) return bad;
  return tailor::Guarded([&]() -> Failure {
    auto given = std::make_unique<Given<Managed>>();  // fallible steps come before the output is taken
    std::unique_ptr<tailor::TakenOutput> taken;
    Failure f = session->session->TakeOutput(index, stream, &taken);
    if (!f.ok()) return f.message = function + std::string(": ") + f.message, f;
    *out = Give(session->executable, std::move(given), std::move(taken));
    return {};
  });
}

}  // namespace

tailor_status* tailor_tensor_from_dlpack(const tailor_executable* executable, const struct DLManagedTensor* tensor,
                                         tailor_tensor* out) {
  constexpr auto kFunction = "tailor_tensor_from_dlpack";
  if (auto* bad = CheckHandle(kFunction, "executable", executable, HandleKind::kExecutable)) return bad;
  if (auto* bad = CheckPointer(kFunction, "tensor", tensor)) return bad;
  return Describe(kFunction, executable, tensor->tensor, out);
}

tailor_status* tailor_tensor_from_dlpack_versioned(const tailor_executable* executable,
                                                   const struct DLManagedTensorVersioned* tensor, tailor_tensor* out) {
  constexpr auto kFunction = "tailor_tensor_from_dlpack_versioned";
  if (auto* bad = CheckHandle(kFunction, "executable", executable, HandleKind::kExecutable)) return bad;
  if (auto* bad = CheckPointer(kFunction, "tensor", tensor)) return bad;
  if (tensor->major != kMajor) {
    char problem[80];
    std::snprintf(problem, sizeof(problem), "has version.major %u, which is not 1", tensor->major);
    return tailor::InvalidParameter(kFunction, "tensor", problem);
  }
  return Describe(kFunction, executable, tensor->tensor, out);
}

tailor_status* tailor_session_take_output(tailor_session* session, size_t index, void* stream,
                                          struct DLManagedTensor** out) {
  return Take("tailor_session_take_output", session, index, stream, out);
}

tailor_status* tailor_session_take_output_versioned(tailor_session* session, size_t index, void* stream,
                                                    struct DLManagedTensorVersioned** out) {
  return Take("tailor_session_take_output_versioned", session, index, stream, out);
}
