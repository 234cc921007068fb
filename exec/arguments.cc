#include "exec/arguments.h"

#include <algorithm>
#include <cstring>
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

// Bytes of a dense tensor of these dims, none negative; false where that leaves int64.
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

// Checks what needs no data: dtype, rank, dims and the size that they make.
Failure CheckType(const char* kind, const ProgramTensor& expected, const Tensor& tensor, uint64_t* bytes) {
  const auto rank = static_cast<int32_t>(expected.dims.size());
  if (tensor.dtype != static_cast<int32_t>(expected.dtype)) {
    return Bad(kind, expected.name, "dtype is " + NameOfNumber(tensor.dtype) + ", expected " + NameOf(expected.dtype));
  }
  if (tensor.rank != rank) {
    return Bad(kind, expected.name, "rank is " + std::to_string(tensor.rank) + ", expected " + std::to_string(rank));
  }
  for (int32_t i = 0; i < rank; ++i) {
    if (tensor.dims[i] < 0) {
      return Bad(kind, expected.name, "dim " + std::to_string(i) + " is negative: " + std::to_string(tensor.dims[i]));
    }
  }
  if (!DenseBytes(expected.dtype, tensor.dims, expected.dims.size(), bytes)) {
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

// Whether the strides are those of a dense tensor; the stride of an extent of 1 has no meaning.
bool IsDense(const Tensor& tensor) {
  if (tensor.strides == nullptr) return true;
  int64_t dense = 1;
  for (int32_t i = tensor.rank - 1; i >= 0; --i) {
    if (tensor.dims[i] != 1 && tensor.strides[i] != dense) return false;
    dense *= tensor.dims[i];
  }
  return true;
}

// Bytes from the first to the end of the last element; false for strides that leave int64 or are negative.
bool StridedBytes(const Tensor& tensor, int size, uint64_t* bytes) {
  int64_t last = 0;
  for (int32_t i = 0; i < tensor.rank; ++i) {
    int64_t reach;
    if (tensor.dims[i] > 1 &&
        (tensor.strides[i] < 0 || __builtin_mul_overflow(tensor.dims[i] - 1, tensor.strides[i], &reach) ||
         __builtin_add_overflow(last, reach, &last))) {
      return false;
    }
  }
  int64_t end;
  if (__builtin_add_overflow(last, 1, &end) || __builtin_mul_overflow(end, int64_t{size}, &end)) return false;
  *bytes = static_cast<uint64_t>(end);
  return true;
}

// Gathers a strided tensor into `to`, innermost dim last. No dim is zero.
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
  return a_bytes > 0 && b_bytes > 0 && x < y + b_bytes && y < x + a_bytes;
}

}  // namespace

Arguments::Arguments(const Program& signature, const Allocator& allocator)
    : signature_(signature),
      dims_(RankSum(signature.inputs) + 2 * RankSum(signature.outputs)),
      in_memory_(signature.inputs.size()),
      outputs_(signature.outputs.size()),
      strides_(signature.inputs.size() * kMaxRank) {
  int64_t* next = dims_.data();
  for (const ProgramTensor& tensor : signature.inputs) {
    in_.push_back({nullptr, next});
    next += tensor.dims.size();
    copies_.emplace_back(allocator);
  }
  for (const ProgramTensor& tensor : signature.outputs) {
    out_.push_back({nullptr, next});
    next += tensor.dims.size();
    wanted_dims_.push_back(next);
    next += tensor.dims.size();
  }
  strided_.reserve(in_.size());
}

Failure Arguments::SetInputs(InputList inputs, InputUse use) {
  if (inputs.size() != in_.size()) {
    return {Code::kInvalidArgument,
            std::to_string(inputs.size()) + " inputs given, expected " + std::to_string(in_.size()), ""};
  }
  strided_.clear();
  for (size_t i = 0; i < in_.size(); ++i) {
    const Tensor& tensor = inputs[i];
    uint64_t bytes = 0;
    if (Failure f = CheckType("input", signature_.inputs[i], tensor, &bytes); !f.ok()) return f;
    for (int32_t d = 0; d < tensor.rank; ++d) in_[i].dims[d] = tensor.dims[d];
    in_[i].data = EmptyTensorData();
    in_memory_[i] = {};
    if (use == InputUse::kShapesOnly || bytes == 0) continue;
    if (Failure f = SetInputData(i, tensor, bytes, use); !f.ok()) return f;
  }
  return {};
}

Failure Arguments::SetInputData(size_t i, const Tensor& tensor, uint64_t bytes, InputUse use) {
  const ProgramTensor& expected = signature_.inputs[i];
  const bool dense = IsDense(tensor);
  if (!dense && expected.donated) return Bad("input", expected.name, "it is donated, so it must be dense row-major");
  if (!dense && use != InputUse::kCopyStrided) {
    return Bad("input", expected.name, "it is strided, but must be dense row-major (or set copy_strided)");
  }
  uint64_t extent = bytes;
  if (!dense && !StridedBytes(tensor, SizeOf(expected.dtype), &extent)) {
    return Bad("input", expected.name, "a stride is negative or too large");
  }
  if (Failure f = CheckData("input", expected, tensor, extent); !f.ok()) return f;
  in_memory_[i] = {tensor.data, extent};
  in_[i].data = tensor.data;
  return dense ? Failure{} : AddStridedCopy(i, tensor, bytes);
}

Failure Arguments::AddStridedCopy(size_t i, const Tensor& tensor, uint64_t bytes) {
  if (!copies_[i].Grow(bytes)) {
    return {Code::kResourceExhausted,
            "input \"" + signature_.inputs[i].name + "\": no " + std::to_string(bytes) + " bytes to copy it to", ""};
  }
  std::memcpy(&strides_[i * kMaxRank], tensor.strides, tensor.rank * sizeof(int64_t));
  strided_.push_back(i);
  in_[i].data = copies_[i].data();
  return {};
}

void Arguments::CopyStrided() {
  for (size_t i : strided_) {
    const ProgramTensor& tensor = signature_.inputs[i];
    GatherStrided(static_cast<const std::byte*>(in_memory_[i].data), in_[i].dims, &strides_[i * kMaxRank],
                  tensor.dims.size(), SizeOf(tensor.dtype), static_cast<std::byte*>(in_[i].data));
  }
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
    if (expected.memory_of >= 0 && in_memory_[expected.memory_of].bytes > 0 &&
        tensor.data != in_memory_[expected.memory_of].data) {
      return Bad("output", expected.name,
                 "it is in the memory of donated input \"" + signature_.inputs[expected.memory_of].name +
                     "\": its data must be null or that input's");
    }
    Output& output = outputs_[i];
    Tensor known = tensor;  // without the extents that are left open
    for (size_t d = 0; d < expected.dims.size(); ++d) {
      if (tensor.dims[d] != kOpenExtent) continue;
      output.open = true;
      known.dims[d] = 0;
    }
    if (output.open && use == OutputUse::kNeedExtents) {
      return Bad("output", expected.name, "an extent is left open (-1), but bound runs cannot tell it");
    }
    if (Failure f = CheckType("output", expected, known, &output.bytes); !f.ok()) return f;
    if (output.open) output.bytes = tensor.data_bytes;
    if (output.bytes > 0 && !IsDense(tensor))
      return Bad("output", expected.name, "it is strided, but must be dense row-major");
    if (Failure f = CheckData("output", expected, tensor, output.bytes); !f.ok()) return f;
    for (int32_t d = 0; d < tensor.rank; ++d) wanted_dims_[i][d] = tensor.dims[d];
    output.data = output.bytes > 0 ? tensor.data : EmptyTensorData();
    output.capacity = tensor.data_bytes;
    output.given = true;
    output.dims = wanted_dims_[i];
  }
  return {};
}

void Arguments::PlaceInInput(size_t output) {
  const int32_t input = signature_.outputs[output].memory_of;
  std::fill_n(wanted_dims_[output], signature_.outputs[output].dims.size(), kOpenExtent);
  outputs_[output] = {.data = in_[input].data,
                      .capacity = in_memory_[input].bytes,
                      .bytes = in_memory_[input].bytes,
                      .open = true,
                      .dims = wanted_dims_[output]};
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

Failure Arguments::CheckOverlap(const std::vector<GrowingBuffer>& provided) const {
  const auto memory_of = [&](size_t i) {
    const Output& output = outputs_[i];
    if (output.data == nullptr) return Memory{provided[i].data(), provided[i].size()};
    return Memory{output.data, output.bytes};
  };
  if (Failure f = CheckDonated(); !f.ok()) return f;
  for (size_t i = 0; i < outputs_.size(); ++i) {
    const bool own = outputs_[i].data == nullptr;
    const auto [data, bytes] = memory_of(i);
    for (size_t k = 0; k < in_.size(); ++k) {
      if (signature_.outputs[i].memory_of == static_cast<int32_t>(k)) continue;
      if (!Overlap(data, bytes, in_memory_[k].data, in_memory_[k].bytes)) continue;
      return Bad("output", signature_.outputs[i].name,
                 "it overlaps input \"" + signature_.inputs[k].name + "\"" +
                     (own ? ", which an earlier run of this session gave: give the output memory of its own" : ""));
    }
    for (size_t k = 0; k < i; ++k) {
      const auto [other, other_bytes] = memory_of(k);
      if (Overlap(data, bytes, other, other_bytes)) {
        return Bad("output", signature_.outputs[i].name, "it overlaps output \"" + signature_.outputs[k].name + "\"");
      }
    }
  }
  return {};
}

}  // namespace tailor
