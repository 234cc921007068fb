#include "exec/arguments.h"

#include <algorithm>
#include <cstring>
#include <optional>
#include <string>

namespace tailor {
namespace {

Failure Bad(const char* kind, const std::string& name, const std::string& problem) {
  return {Code::kInvalidArgument, std::string(kind) + " \"" + name + "\": " + problem, ""};
}

std::string NameOfNumber(int32_t dtype) {
  const bool known = dtype > 0 && dtype < kDTypeCount;
  return known ? NameOf(static_cast<DType>(dtype)) : "unknown (" + std::to_string(dtype) + ")";
}

// Size in bytes of a dense tensor with these dims, none of which is negative; false on overflow of int64.
bool DenseBytes(DType dtype, const int64_t* dims, size_t rank, uint64_t* bytes) {
  int64_t total = SizeOf(dtype);
  bool empty = false, overflow = false;
  for (size_t i = 0; i < rank; ++i) {
    if (dims[i] == 0)
      empty = true;
    else
      overflow |= __builtin_mul_overflow(total, dims[i], &total);
  }
  if (overflow && !empty) return false;
  *bytes = empty ? 0 : static_cast<uint64_t>(total);
  return true;
}

// Checks dtype, rank, dims and the size in bytes, without looking at data.
Failure CheckType(const char* kind, const ProgramTensor& expected, const Tensor& tensor, const int64_t* dims,
                  uint64_t* bytes) {
  const auto rank = static_cast<int32_t>(expected.dims.size());
  if (tensor.dtype != static_cast<int32_t>(expected.dtype)) {
    return Bad(kind, expected.name, "dtype is " + NameOfNumber(tensor.dtype) + ", expected " + NameOf(expected.dtype));
  }
  if (tensor.rank != rank) {
    return Bad(kind, expected.name, "rank is " + std::to_string(tensor.rank) + ", expected " + std::to_string(rank));
  }
  for (int32_t i = 0; i < rank; ++i) {
    if (dims[i] < 0) {
      return Bad(kind, expected.name, "dim " + std::to_string(i) + " is negative: " + std::to_string(dims[i]));
    }
  }
  if (!DenseBytes(expected.dtype, dims, expected.dims.size(), bytes)) {
    return Bad(kind, expected.name, "its size in bytes does not fit 63 bits");
  }
  return {};
}

Failure CheckData(const char* kind, const ProgramTensor& expected, const Tensor& tensor, uint64_t needed) {
  if (needed == 0) return {};
  if (tensor.data == nullptr) return Bad(kind, expected.name, "data is null");
  if (tensor.data_bytes < needed) {
    return Bad(kind, expected.name,
               "data_bytes is " + std::to_string(tensor.data_bytes) + ", its dims need " + std::to_string(needed));
  }
  const int alignment = SizeOf(expected.dtype);
  if (reinterpret_cast<uintptr_t>(tensor.data) % alignment != 0) {
    return Bad(kind, expected.name, "data is not aligned to " + std::to_string(alignment) + " bytes");
  }
  return {};
}

// Whether the strides are those of a dense tensor; the stride of a dim of size 1 is ignored. A stride outside of an
// open dim size, or of dims whose product overflows int64, is not dense.
bool IsDense(const Tensor& tensor) {
  if (tensor.strides == nullptr) return true;
  int64_t dense = 1;
  bool known = true;
  for (int32_t i = tensor.rank - 1; i >= 0; --i) {
    const int64_t dim_size = tensor.dims[i];
    if (dim_size != 1 && (!known || tensor.strides[i] != dense)) return false;
    known = known && dim_size >= 0 && !__builtin_mul_overflow(dense, dim_size, &dense);
  }
  return true;
}

// The memory of a strided tensor: bytes from its lowest to the end of its highest element, and the part of them before
// `data`, which is nonzero for negative strides.
struct StridedSpan {
  uint64_t bytes, before;
};

// nullopt on overflow of int64. Requires that no dim is zero.
std::optional<StridedSpan> SpanOf(const Tensor& tensor, int size) {
  int64_t least = 0, most = 0;  // in elements, from `data`
  for (int32_t i = 0; i < tensor.rank; ++i) {
    int64_t reach = 0;
    if (tensor.dims[i] > 1 && __builtin_mul_overflow(tensor.dims[i] - 1, tensor.strides[i], &reach)) return {};
    int64_t& end = reach < 0 ? least : most;
    if (__builtin_add_overflow(end, reach, &end)) return {};
  }
  int64_t count, bytes;
  if (__builtin_sub_overflow(most, least, &count) || __builtin_add_overflow(count, 1, &count) ||
      __builtin_mul_overflow(count, int64_t{size}, &bytes)) {
    return {};
  }
  return StridedSpan{static_cast<uint64_t>(bytes), static_cast<uint64_t>(-least) * static_cast<uint64_t>(size)};
}

// Gathers a strided tensor into dense `to`. Requires that no dim is zero.
std::byte* GatherStrided(const std::byte* from, const int64_t* dims, const int64_t* strides, size_t rank, int size,
                         std::byte* to) {
  if (rank == 0) {
    std::memcpy(to, from, size);
    return to + size;
  }
  for (int64_t i = 0; i < dims[0]; ++i) {
    to = GatherStrided(from + i * strides[0] * size, dims + 1, strides + 1, rank - 1, size, to);
  }
  return to;
}

size_t RankSum(const std::vector<ProgramTensor>& tensors) {
  size_t sum = 0;
  for (const ProgramTensor& tensor : tensors) sum += tensor.dims.size();
  return sum;
}

bool Overlap(const void* a, uint64_t a_bytes, const void* b, uint64_t b_bytes) {
  const auto x = reinterpret_cast<uintptr_t>(a), y = reinterpret_cast<uintptr_t>(b);
  return a_bytes > 0 && b_bytes > 0 && (x < y ? y - x < a_bytes : x - y < b_bytes);
}

}  // namespace

Arguments::Arguments(const Program& signature, const Allocator& allocator, DeviceStream* stream,
                     const std::vector<int32_t>& apart, MemoryCounters* counters)
    : signature_(signature),
      stream_(stream),
      dims_(RankSum(signature.inputs) + 2 * RankSum(signature.outputs)),
      in_memory_(signature.inputs.size()),
      outputs_(signature.outputs.size()),
      outside_donated_(signature.outputs.size()),
      strides_(signature.inputs.size() * kMaxRank) {
  for (const int32_t output : apart) outside_donated_[output] = true;
  int64_t* next = dims_.data();
  for (const ProgramTensor& tensor : signature.inputs) {
    in_.push_back({nullptr, next});
    next += tensor.dims.size();
    copies_.emplace_back(allocator, counters);
    if (stream != nullptr) device_copies_.emplace_back(stream->memory(), counters);
  }
  for (const ProgramTensor& tensor : signature.outputs) {
    out_.push_back({nullptr, next});
    next += tensor.dims.size();
    wanted_dims_.push_back(next);
    next += tensor.dims.size();
  }
  strided_.reserve(in_.size());
  uploads_.reserve(in_.size());
}

Failure Arguments::SetInputs(InputList inputs, InputUse use) {
  if (inputs.size() != in_.size()) {
    return {Code::kInvalidArgument,
            std::to_string(inputs.size()) + " inputs given, expected " + std::to_string(in_.size()), ""};
  }
  strided_.clear();
  uploads_.clear();
  for (size_t i = 0; i < in_.size(); ++i) {
    const Tensor& tensor = inputs[i];
    uint64_t bytes = 0;
    if (Failure f = CheckType("input", signature_.inputs[i], tensor, tensor.dims, &bytes); !f.ok()) return f;
    for (int32_t d = 0; d < tensor.rank; ++d) in_[i].dims[d] = tensor.dims[d];
    in_[i].data = EmptyTensorData();
    in_memory_[i] = {};
    if (use == InputUse::kShapesOnly || bytes == 0) continue;
    if (Failure f = SetInputData(i, tensor, inputs.device(i), bytes, use); !f.ok()) return f;
  }
  return {};
}

// Whether the memory is on the stated device, and the program can use it.
Failure Arguments::CheckMemory(const char* kind, const ProgramTensor& expected, const Memory& memory) const {
  if (memory.device != kHostMemory && memory.device != kDeviceMemory) {
    return Bad(kind, expected.name, "device is " + std::to_string(memory.device) + ", not 0 or 1");
  }
  if (stream_ == nullptr) {
    if (memory.device == kHostMemory) return {};
    return Bad(kind, expected.name, "device is 1, but the executable runs on the CPU");
  }
  if (memory.device == kDeviceMemory) {
    const std::string problem = stream_->ProblemWithMemory(memory.data, memory.bytes);
    return problem.empty() ? Failure{} : Bad(kind, expected.name, "device is 1, but " + problem);
  }
  if (!stream_->IsDeviceMemory(memory.data)) return {};
  return Bad(kind, expected.name, "device is 0, but its data is device memory");
}

Failure Arguments::SetInputData(size_t i, const Tensor& tensor, int64_t device, uint64_t bytes, InputUse use) {
  const ProgramTensor& expected = signature_.inputs[i];
  const bool dense = IsDense(tensor);
  if (!dense && expected.donated) return Bad("input", expected.name, "it is donated, so it must be dense row-major");
  if (!dense && use != InputUse::kCopyStrided) {
    return Bad("input", expected.name, "it is strided, but must be dense row-major (or set copy_strided)");
  }
  const std::optional<StridedSpan> dim_size = dense ? StridedSpan{bytes, 0} : SpanOf(tensor, SizeOf(expected.dtype));
  if (!dim_size) return Bad("input", expected.name, "a stride is too large");
  if (Failure f = CheckData("input", expected, tensor, dim_size->bytes); !f.ok()) return f;
  in_memory_[i] = {static_cast<const std::byte*>(tensor.data) - dim_size->before, dim_size->bytes, device};
  if (Failure f = CheckMemory("input", expected, in_memory_[i]); !f.ok()) return f;
  in_[i].data = tensor.data;
  if (!dense && device == kDeviceMemory) {
    return Bad("input", expected.name, "it is strided, but must be dense row-major in device memory");
  }
  if (!dense) {
    if (Failure f = AddStridedCopy(i, tensor, bytes); !f.ok()) return f;
  }
  return stream_ != nullptr && device == kHostMemory ? AddDeviceCopy(i, bytes) : Failure{};
}

Failure Arguments::AddStridedCopy(size_t i, const Tensor& tensor, uint64_t bytes) {
  // An earlier run's copy to the device may still read the memory that Grow frees.
  if (stream_ != nullptr && bytes > copies_[i].size()) stream_->Wait();
  if (!copies_[i].Grow(bytes)) {
    return {Code::kResourceExhausted,
            "input \"" + signature_.inputs[i].name + "\": no " + std::to_string(bytes) + " bytes to copy it to", ""};
  }
  std::memcpy(&strides_[i * kMaxRank], tensor.strides, tensor.rank * sizeof(int64_t));
  strided_.push_back({i, tensor.data});
  in_[i].data = copies_[i].data();
  return {};
}

Failure Arguments::AddDeviceCopy(size_t i, uint64_t bytes) {
  if (!device_copies_[i].Grow(bytes)) {
    return {Code::kResourceExhausted,
            "input \"" + signature_.inputs[i].name + "\": no " + std::to_string(bytes) +
                " bytes on the device to copy it to",
            ""};
  }
  uploads_.push_back({i, in_[i].data, bytes});
  in_[i].data = device_copies_[i].data();
  return {};
}

void Arguments::FreeCopies() {
  strided_.clear();
  uploads_.clear();
  for (GrowingBuffer& copy : copies_) copy.Free();
  for (GrowingBuffer& copy : device_copies_) copy.Free();
}

uint64_t Arguments::copied_bytes() const { return TotalBytes(copies_) + TotalBytes(device_copies_); }

bool Arguments::CopyStrided() {
  if (strided_.empty()) return true;
  // Copies to the device may still read the memory written here.
  if (stream_ != nullptr && !stream_->Wait()) return false;
  for (const auto& [i, from] : strided_) {
    const ProgramTensor& tensor = signature_.inputs[i];
    GatherStrided(static_cast<const std::byte*>(from), in_[i].dims, &strides_[i * kMaxRank], tensor.dims.size(),
                  SizeOf(tensor.dtype), reinterpret_cast<std::byte*>(copies_[i].data()));
  }
  return true;
}

bool Arguments::CopyInputs() {
  if (!CopyStrided()) return false;
  for (const DeviceCopy& copy : uploads_) {
    if (!stream_->Upload(in_[copy.input].data, copy.from, copy.bytes)) return false;
  }
  return true;
}

uint64_t Arguments::output_bytes(size_t i) const {
  uint64_t bytes = 0;
  DenseBytes(signature_.outputs[i].dtype, out_[i].dims, output_rank(i), &bytes);
  return bytes;
}

bool Arguments::CopyOutputs() {
  for (size_t i = 0; i < outputs_.size(); ++i) {
    const Output& output = outputs_[i];
    if (output.data == nullptr || output.target == output.data) continue;
    const uint64_t bytes = output_bytes(i);
    if (bytes == 0) continue;
    const bool there = output.device == kDeviceMemory;
    if (!(there ? stream_->Copy(output.data, out_[i].data, bytes)
                : stream_->Download(output.data, out_[i].data, bytes))) {
      return false;
    }
  }
  return true;
}

Failure Arguments::SetOutputs(OutputList outputs, OutputUse use) {
  if (outputs.size() != out_.size()) {
    return {Code::kInvalidArgument,
            std::to_string(outputs.size()) + " outputs given, expected " + std::to_string(out_.size()), ""};
  }
  for (size_t i = 0; i < out_.size(); ++i) {
    const Tensor& tensor = outputs[i];
    outputs_[i] = {};
    const ProgramTensor& expected = signature_.outputs[i];
    if (tensor.data == nullptr && use == OutputUse::kMayProvide) {
      if (expected.memory_of >= 0) PlaceInInput(i);
      continue;
    }
    if (tensor.data == nullptr && tensor.dtype == 0) return Bad("output", expected.name, "data is null");
    if (expected.memory_of >= 0 && in_memory_[expected.memory_of].bytes > 0 &&
        tensor.data != in_memory_[expected.memory_of].data) {
      return Bad("output", expected.name,
                 "it is in the memory of donated input \"" + signature_.inputs[expected.memory_of].name +
                     "\": its data must be " + (use == OutputUse::kMayProvide ? "null or " : "") + "that input's");
    }
    Output& output = outputs_[i];
    int64_t known[kMaxRank];  // the dims, with 0 for open dim sizes
    for (size_t d = 0; d < expected.dims.size(); ++d) {
      output.open |= tensor.dims[d] == kOpenDimSize;
      known[d] = tensor.dims[d] == kOpenDimSize ? 0 : tensor.dims[d];
    }
    if (output.open && use == OutputUse::kNeedDimSizes) {
      return Bad("output", expected.name, "a dim size is left open (-1), but bound runs need all dim sizes");
    }
    if (Failure f = CheckType("output", expected, tensor, known, &output.bytes); !f.ok()) return f;
    if (output.open) output.bytes = tensor.data_bytes;
    if (output.bytes > 0 && !IsDense(tensor))
      return Bad("output", expected.name, "it is strided, but must be dense row-major");
    if (Failure f = CheckData("output", expected, tensor, output.bytes); !f.ok()) return f;
    output.device = outputs.device(i);
    if (output.bytes > 0) {
      if (Failure f = CheckMemory("output", expected, {tensor.data, output.bytes, output.device}); !f.ok()) return f;
    }
    for (int32_t d = 0; d < tensor.rank; ++d) wanted_dims_[i][d] = tensor.dims[d];
    output.data = output.bytes > 0 ? tensor.data : EmptyTensorData();
    output.capacity = tensor.data_bytes;
    output.given = true;
    output.dims = wanted_dims_[i];
    SetTarget(i);
  }
  return {};
}

// An output in host memory, written by a device, goes to the device copy of the input whose memory it shares, or to a
// session buffer. An output in outside_donated_ always goes to a session buffer.
void Arguments::SetTarget(size_t i) {
  Output& output = outputs_[i];
  output.target = output.data;
  if (outside_donated_[i]) output.target = nullptr;
  if (outside_donated_[i] || stream_ == nullptr || output.device == kDeviceMemory || output.bytes == 0) return;
  const int32_t input = signature_.outputs[i].memory_of;
  output.target = input >= 0 && in_memory_[input].bytes > 0 ? in_[input].data : nullptr;
}

void Arguments::PlaceInInput(size_t output) {
  const int32_t input = signature_.outputs[output].memory_of;
  std::fill_n(wanted_dims_[output], signature_.outputs[output].dims.size(), kOpenDimSize);
  const Memory& memory = in_memory_[input];
  outputs_[output] = {.data = memory.bytes > 0 ? const_cast<void*>(memory.data) : EmptyTensorData(),
                      .capacity = memory.bytes,
                      .bytes = memory.bytes,
                      .open = true,
                      .device = memory.device,
                      .dims = wanted_dims_[output]};
  SetTarget(output);
}

Failure Arguments::CheckDonated() const {
  for (size_t i = 0; i < in_.size(); ++i) {
    if (!signature_.inputs[i].donated) continue;
    for (size_t k = 0; k < in_.size(); ++k) {
      if (k == i || !Overlap(in_memory_[i].data, in_memory_[i].bytes, in_memory_[k].data, in_memory_[k].bytes))
        continue;
      return Bad("input", signature_.inputs[i].name,
                 "it is donated, but overlaps input \"" + signature_.inputs[k].name + "\"");
    }
  }
  return {};
}

bool Arguments::Reads(const GrowingBuffer& buffer) const {
  return std::any_of(in_memory_.begin(), in_memory_.end(), [&](const Memory& input) {
    return Overlap(buffer.data(), buffer.size(), input.data, input.bytes);
  });
}

Failure Arguments::CheckOverlap(const std::vector<GrowingBuffer>& provided) const {
  if (Failure f = CheckDonated(); !f.ok()) return f;
  for (size_t i = 0; i < outputs_.size(); ++i) {
    const Output& output = outputs_[i];
    if (output.data != nullptr) {
      if (Failure f = CheckOverlap(i, {output.data, output.bytes}, /*own=*/false, provided); !f.ok()) return f;
    }
    if (output.target != nullptr) continue;
    if (Failure f = CheckOverlap(i, {provided[i].data(), provided[i].size()}, /*own=*/true, provided); !f.ok())
      return f;
  }
  return {};
}

// Checks output i, which is in `memory`: the library's own (`own`) or the caller's.
Failure Arguments::CheckOverlap(size_t i, const Memory& memory, bool own,
                                const std::vector<GrowingBuffer>& provided) const {
  const std::string& name = signature_.outputs[i].name;
  for (size_t k = 0; k < in_.size(); ++k) {
    if (signature_.outputs[i].memory_of == static_cast<int32_t>(k)) continue;
    if (!Overlap(memory.data, memory.bytes, in_memory_[k].data, in_memory_[k].bytes)) continue;
    return Bad("output", name,
               "it overlaps input \"" + signature_.inputs[k].name + "\"" +
                   (own ? ", which an earlier run of this session gave: copy or take it" : ""));
  }
  for (size_t k = 0; k < i; ++k) {
    const Output& other = outputs_[k];
    if (Overlap(memory.data, memory.bytes, other.data, other.bytes) ||
        (other.target == nullptr && Overlap(memory.data, memory.bytes, provided[k].data(), provided[k].size()))) {
      return Bad("output", name, "it overlaps output \"" + signature_.outputs[k].name + "\"");
    }
  }
  return {};
}

}  // namespace tailor
