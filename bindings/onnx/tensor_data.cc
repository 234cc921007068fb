#include "bindings/onnx/tensor_data.h"

#include <sys/stat.h>

#include <algorithm>
#include <charconv>
#include <cstring>
#include <string>
#include <utility>

#include "bindings/frontend/error.h"
#include "bindings/frontend/narrow.h"
#include "bindings/onnx/data_types.h"

namespace tailor::onnx {
namespace {

using frontend::Array;
using frontend::CountOf;
using frontend::Fail;

std::string ShapeText(const std::vector<int64_t>& shape) {
  std::string text = "[";
  for (size_t i = 0; i < shape.size(); ++i) text += (i > 0 ? ", " : "") + std::to_string(shape[i]);
  return text + "]";
}

void RequireCount(const TensorProto& proto, size_t wanted, size_t given, const char* what) {
  if (wanted == given) return;
  Fail(ShapeText(proto.dims) + " needs " + std::to_string(wanted) + " " + what + ", but there are " +
       std::to_string(given));
}

uint64_t NumberOf(std::string_view text, const char* key) {
  uint64_t number;
  const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || stop != text.data() + text.size()) {
    Fail(std::string("external data's ") + key + " is \"" + std::string(text) + "\"");
  }
  return number;
}

}  // namespace

Array TensorData::ArrayOf(const TensorProto& proto) {
  for (int64_t dim : proto.dims) {
    if (dim < 0) Fail("a dim of " + ShapeText(proto.dims) + " is negative");
  }
  if (NarrowOfDataType(proto.data_type) != frontend::Narrow::kNone) return OfNarrow(proto);
  const DType dtype = DTypeOfDataType(proto.data_type);
  const size_t size = static_cast<size_t>(CountOf(proto.dims)) * static_cast<size_t>(SizeOf(dtype));
  if (proto.is_external) return OfBytes(dtype, proto.dims, External(proto, size));
  if (!proto.has_raw_data) return OfFields(proto, dtype);
  RequireCount(proto, size, proto.raw_data.size(), "bytes");
  return OfBytes(dtype, proto.dims, PartOf(model_, proto.raw_data));
}

Array TensorData::OfBytes(DType dtype, std::vector<int64_t> shape, const MappedFile& part) const {
  const std::string_view bytes = part.bytes;
  const bool aligned = reinterpret_cast<uintptr_t>(bytes.data()) % static_cast<uintptr_t>(SizeOf(dtype)) == 0;
  if (aligned && !bytes.empty() && dtype != DType::kBool) {
    return Array(dtype, std::move(shape), part.owner, bytes.data());
  }
  Array out = Array::New(dtype, std::move(shape));
  if (!bytes.empty()) std::memcpy(out.fill<char>(), bytes.data(), bytes.size());
  out.NormalizeBools();
  return out;
}

Array TensorData::OfFields(const TensorProto& proto, DType dtype) const {
  const auto size = static_cast<size_t>(CountOf(proto.dims));
  Array out;
  const auto copy = [&](const auto& field, auto store) {
    RequireCount(proto, size, field.size(), "elements");
    out = Array::New(dtype, proto.dims);
    for (size_t i = 0; i < size; ++i) store(static_cast<int64_t>(i), field[i]);
  };
  switch (dtype) {
    case DType::kF32:
      copy(proto.float_data, [&](int64_t i, float value) { out.fill<float>()[i] = value; });
      break;
    case DType::kF64:
      copy(proto.double_data, [&](int64_t i, double value) { out.fill<double>()[i] = value; });
      break;
    case DType::kI64:
      copy(proto.int64_data, [&](int64_t i, int64_t value) { out.fill<int64_t>()[i] = value; });
      break;
    case DType::kU32:
    case DType::kU64:
      copy(proto.uint64_data, [&](int64_t i, uint64_t value) { out.set_integer(i, static_cast<int64_t>(value)); });
      break;
    case DType::kF16:
    case DType::kBF16:
      copy(proto.int32_data, [&](int64_t i, int32_t bits) { out.fill<uint16_t>()[i] = static_cast<uint16_t>(bits); });
      break;
    default:
      copy(proto.int32_data, [&](int64_t i, int32_t value) { out.set_integer(i, value); });
  }
  return out;
}

// Elements below 8 bits are packed from the lowest bits on; int32_data holds one packed byte each.
Array TensorData::OfNarrow(const TensorProto& proto) {
  const frontend::Narrow narrow = NarrowOfDataType(proto.data_type);
  const auto bits = static_cast<size_t>(frontend::BitsOf(narrow)), per_byte = 8 / bits;
  const auto count = static_cast<size_t>(CountOf(proto.dims));
  const size_t size = (count + per_byte - 1) / per_byte;
  std::string bytes;
  if (proto.is_external) {
    bytes = External(proto, size).bytes;
  } else if (proto.has_raw_data) {
    bytes = PartOf(model_, proto.raw_data).bytes;
  } else {
    for (int32_t value : proto.int32_data) bytes.push_back(static_cast<char>(value));
  }
  RequireCount(proto, size, bytes.size(), "bytes");
  Array out = Array::New(StorageOf(narrow), proto.dims);
  const bool is_signed = StorageOf(narrow) == DType::kI8;
  for (size_t i = 0; i < count; ++i) {
    const auto byte = static_cast<uint8_t>(bytes[i / per_byte]);
    int value = byte >> (i % per_byte * bits) & ((1 << bits) - 1);
    if (is_signed && value >= 1 << (bits - 1)) value -= 1 << bits;
    out.set_integer(static_cast<int64_t>(i), value);
  }
  return out;
}

MappedFile TensorData::External(const TensorProto& proto, size_t size) {
  std::string_view location;
  uint64_t start = 0, length = size;
  for (size_t i = 0; i < proto.external_data.size(); ++i) {
    const auto& [key, value] = proto.external_data[i];
    for (size_t j = 0; j < i; ++j) {
      if (proto.external_data[j].first == key) Fail("external data has the key \"" + std::string(key) + "\" twice");
    }
    if (key == "location") {
      location = value;
    } else if (key == "offset") {
      start = NumberOf(value, "offset");
    } else if (key == "length") {
      length = NumberOf(value, "length");
    } else if (key != "checksum" && key != "basepath") {
      Fail("external data has the unknown key \"" + std::string(key) + "\"");
    }
  }
  if (location.empty()) Fail("external data has no location");
  if (length != size) {
    Fail("external data of " + std::to_string(length) + " bytes for a tensor of " + std::to_string(size));
  }
  const MappedFile& file = File(location);
  if (start > file.bytes.size() || size > file.bytes.size() - start) {
    Fail("external data of " + std::to_string(size) + " bytes from byte " + std::to_string(start) + " of \"" +
         std::string(location) + "\", which has " + std::to_string(file.bytes.size()));
  }
  return PartOf(file, file.bytes.substr(start, size));
}

// A file below the model's directory: no link on the way, and no way out.
const MappedFile& TensorData::File(std::string_view location) {
  const auto known = files_.find(location);
  if (known != files_.end()) return known->second;
  const std::string name(location), what = "external data \"" + name + "\"";
  if (!directory_) Fail(what + " of a model that was given without a path");
  std::string path = *directory_;
  size_t start = 0;
  while (start <= name.size()) {
    const size_t end = std::min(name.find_first_of("/\\", start), name.size());
    const std::string part = name.substr(start, end - start);
    if (part == ".." || (part.empty() && start == 0) || part.find('\0') != std::string::npos) {
      Fail(what + " leaves the model's folder");
    }
    if (!part.empty()) path += "/" + part;
    struct stat status;
    if (lstat(path.c_str(), &status) == 0 && S_ISLNK(status.st_mode)) Fail(what + " goes through a symbolic link");
    start = end + 1;
  }
  return files_.emplace(name, MapFile(path, what, /*no_links=*/true)).first->second;
}

}  // namespace tailor::onnx
