#include "tools/tailor/tensor_file.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <fstream>
#include <iterator>
#include <sstream>
#include <stdexcept>

#include "graph/element.h"

namespace tailor {
namespace {

// numpy's names of element types, little endian; bf16 has none, and is written as two bytes by ml_dtypes.
constexpr const char* kNumpy[kDTypeCount] = {"",    "|b1", "|i1", "<i2", "<i4", "<i8", "|u1",
                                             "<u2", "<u4", "<u8", "<f2", "",    "<f4", "<f8"};
constexpr char kMagic[] = "\x93NUMPY\x01";  // version 1.0, whose minor number is the literal's end
constexpr size_t kPreamble = 10;            // magic, version and the header's length

[[noreturn]] void Fail(const std::string& message) { throw std::runtime_error(message); }

std::vector<std::string> Split(const std::string& text, char separator) {
  std::vector<std::string> parts;
  std::istringstream in(text);
  for (std::string part; std::getline(in, part, separator);) parts.push_back(part);
  return parts;
}

int64_t ParseDim(const std::string& text) {
  if (text.empty() || text.size() > 12 || text.find_first_not_of("0123456789") != std::string::npos) {
    Fail("\"" + text + "\" is no dim size");
  }
  return std::stoll(text);
}

DType ParseDType(const std::string& text) {
  for (int i = 1; i < kDTypeCount; ++i) {
    if (text == NameOf(static_cast<DType>(i))) return static_cast<DType>(i);
  }
  Fail("\"" + text + "\" is no element type");
}

size_t ByteCount(const NamedTensor& tensor) {
  int64_t count = 1;
  for (int64_t dim : tensor.dims) {
    if (__builtin_mul_overflow(count, dim, &count) || count > int64_t{1} << 40) Fail("the tensor is too large");
  }
  return static_cast<size_t>(count) * SizeOf(tensor.dtype);
}

// The text between `key` and `end` of a .npy header.
std::string HeaderField(const std::string& header, const std::string& key, char begin, char end) {
  const size_t at = header.find("'" + key + "'");
  const size_t first = at == std::string::npos ? at : header.find(begin, header.find(':', at));
  const size_t last = first == std::string::npos ? first : header.find(end, first + 1);
  if (last == std::string::npos) Fail("the .npy header has no '" + key + "'");
  return header.substr(first + 1, last - first - 1);
}

}  // namespace

int64_t NamedTensor::count() const { return static_cast<int64_t>(bytes.size()) / SizeOf(dtype); }

NamedTensor ParseTensor(const std::string& argument) {
  const size_t equals = argument.find('=');
  if (equals == std::string::npos) Fail("\"" + argument + "\": expected name=2x3xf32=... or name=@file.npy");
  const std::string value = argument.substr(equals + 1);
  NamedTensor tensor;
  if (!value.empty() && value[0] == '@') {
    tensor = ReadNpy(value.substr(1));
    tensor.name = argument.substr(0, equals);
    return tensor;
  }
  tensor.name = argument.substr(0, equals);
  const size_t data = value.find('=');
  std::vector<std::string> type = Split(value.substr(0, data), 'x');
  if (type.empty()) Fail("\"" + argument + "\" has no type");
  tensor.dtype = ParseDType(type.back());
  type.pop_back();
  for (const std::string& dim : type) tensor.dims.push_back(ParseDim(dim));
  tensor.bytes.assign(ByteCount(tensor), 0);
  if (data == std::string::npos) return tensor;
  const std::vector<std::string> elements = Split(value.substr(data + 1), ',');
  if (static_cast<int64_t>(elements.size()) != tensor.count()) {
    Fail(tensor.name + " has " + std::to_string(elements.size()) + " elements, needs " +
         std::to_string(tensor.count()));
  }
  for (size_t i = 0; i < elements.size(); ++i) {
    if (!ParseElement(tensor.dtype, elements[i], tensor.bytes.data() + i * SizeOf(tensor.dtype))) {
      Fail("\"" + elements[i] + "\" is no " + NameOf(tensor.dtype));
    }
  }
  return tensor;
}

NamedTensor ReadNpy(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  const std::string file{std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
  if (!in.good() && file.empty()) Fail("cannot read " + path);
  return ParseNpy(file, path);
}

NamedTensor ParseNpy(const std::string& file, const std::string& path) {
  if (file.size() < kPreamble || std::memcmp(file.data(), kMagic, sizeof(kMagic)) != 0) {
    Fail(path + " is no .npy file of version 1.0");
  }
  const size_t header_size = static_cast<uint8_t>(file[8]) | static_cast<size_t>(static_cast<uint8_t>(file[9])) << 8;
  const std::string header = file.substr(kPreamble, header_size);
  NamedTensor tensor;
  const std::string descr = HeaderField(header, "descr", '\'', '\'');
  const auto* known = std::find(std::begin(kNumpy) + 1, std::end(kNumpy), descr);
  const bool is_bf16 = descr == "<V2" || descr == "|V2";
  if (!is_bf16 && (descr.empty() || known == std::end(kNumpy))) {
    Fail(path + ": element type " + descr + " is not supported");
  }
  tensor.dtype = is_bf16 ? DType::kBF16 : static_cast<DType>(known - kNumpy);
  if (header.find("'fortran_order': False") == std::string::npos) Fail(path + " is in Fortran order");
  for (std::string dim : Split(HeaderField(header, "shape", '(', ')'), ',')) {
    std::erase(dim, ' ');
    if (!dim.empty()) tensor.dims.push_back(ParseDim(dim));
  }
  if (file.size() != kPreamble + header_size + ByteCount(tensor)) Fail(path + " has a wrong size");
  tensor.bytes.assign(file.begin() + static_cast<int64_t>(kPreamble + header_size), file.end());
  return tensor;
}

void WriteNpy(const std::string& path, const NamedTensor& tensor) {
  static_assert(std::endian::native == std::endian::little);
  const std::string type = kNumpy[static_cast<int>(tensor.dtype)];
  if (type.empty()) Fail(std::string("numpy has no ") + NameOf(tensor.dtype));
  std::string shape;
  for (int64_t dim : tensor.dims) shape += std::to_string(dim) + ",";
  std::string header = "{'descr': '" + type + "', 'fortran_order': False, 'shape': (" + shape + "), }";
  header.append(63 - (kPreamble + header.size()) % 64, ' ');
  header += '\n';
  std::ofstream out(path, std::ios::binary);
  out.write(kMagic, sizeof(kMagic));
  out.put(static_cast<char>(header.size() & 0xFF)).put(static_cast<char>(header.size() >> 8)) << header;
  out.write(tensor.bytes.data(), static_cast<std::streamsize>(tensor.bytes.size()));
  out.close();
  if (!out) Fail("cannot write " + path);
}

std::string TensorText(const NamedTensor& tensor, int64_t limit) {
  std::string text;
  for (int64_t dim : tensor.dims) text += std::to_string(dim) + "x";
  text += std::string(NameOf(tensor.dtype)) + "=";
  const int64_t shown = std::min(tensor.count(), limit);
  for (int64_t i = 0; i < shown; ++i) {
    text += (i > 0 ? "," : "") + ElementText(tensor.dtype, tensor.bytes.data() + i * SizeOf(tensor.dtype));
  }
  return text + (shown < tensor.count() ? ",..." : "");
}

}  // namespace tailor
