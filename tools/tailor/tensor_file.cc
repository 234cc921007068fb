#include "tools/tailor/tensor_file.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <sstream>

#include "graph/element.h"
#include "tailor/runtime.h"
#include "tools/tailor/failures.h"
#include "tools/tailor/files.h"
#include "tools/tailor/npz_file.h"

namespace tailor {
namespace {

// numpy's names of element types, little endian; bf16 has none, and is written as two bytes by ml_dtypes.
constexpr const char* kNumpy[kDTypeCount] = {"",    "|b1", "|i1", "<i2", "<i4", "<i8", "|u1",
                                             "<u2", "<u4", "<u8", "<f2", "",    "<f4", "<f8"};
constexpr char kMagic[] = "\x93NUMPY\x01";  // version 1.0, whose minor number is the literal's end
constexpr size_t kPreamble = 10;            // magic, version and the header's length

[[noreturn]] void Fail(const std::string& message) { throw UsageError(message); }
[[noreturn]] void FailFile(const std::string& message) { throw FileError(TAILOR_DATA_LOSS, message); }

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
  if (last == std::string::npos) FailFile("the .npy header has no '" + key + "'");
  return header.substr(first + 1, last - first - 1);
}

// The array of a .npy file, or `name` of a .npz file, which `file.npz:array` names otherwise.
NamedTensor ReadArray(const std::string& path, const std::string& name) {
  constexpr std::string_view kArchive = ".npz";
  const size_t colon = path.rfind(".npz:");
  const std::string archive = colon == std::string::npos ? path : path.substr(0, colon + kArchive.size());
  if (!archive.ends_with(kArchive)) return ParseNpy(ReadFile(path), path);
  const std::string array = colon == std::string::npos ? name : path.substr(colon + kArchive.size() + 1);
  NpzFile file(archive);
  if (!file.Has(array)) throw FileError(TAILOR_NOT_FOUND, archive + " has no array " + array);
  return file.Read(array);
}

// "1,2,3" for the elements of `tensor`.
void ParseElements(const std::string& text, const std::string& argument, NamedTensor* tensor) {
  const std::vector<std::string> elements = Split(text, ',');
  if (static_cast<int64_t>(elements.size()) != tensor->count()) {
    Fail("\"" + argument + "\" has " + std::to_string(elements.size()) + " elements, needs " +
         std::to_string(tensor->count()));
  }
  for (size_t i = 0; i < elements.size(); ++i) {
    if (!ParseElement(tensor->dtype, elements[i], tensor->bytes.data() + i * SizeOf(tensor->dtype))) {
      Fail("\"" + argument + "\": \"" + elements[i] + "\" is no " + NameOf(tensor->dtype));
    }
  }
}

// "2x3xf32=1,2,3,4,5,6", "2x3xf32" or "2x3xf32=@file".
NamedTensor ParseLiteral(const std::string& value, const std::string& argument) {
  NamedTensor tensor;
  const size_t data = value.find('=');
  std::vector<std::string> type = Split(value.substr(0, data), 'x');
  if (type.empty()) Fail("\"" + argument + "\" has no type");
  tensor.dtype = ParseDType(type.back());
  type.pop_back();
  for (const std::string& dim : type) tensor.dims.push_back(ParseDim(dim));
  const size_t size = ByteCount(tensor);
  if (data != std::string::npos && value.compare(data + 1, 1, "@") == 0) {
    const std::string path = value.substr(data + 2), content = ReadFile(path);
    if (content.size() != size) {
      FailFile(path + " has " + std::to_string(content.size()) + " bytes, " + tensor.type() + " " +
               std::to_string(size));
    }
    tensor.bytes.assign(content.begin(), content.end());
    return tensor;
  }
  tensor.bytes.assign(size, 0);
  if (data != std::string::npos) ParseElements(value.substr(data + 1), argument, &tensor);
  return tensor;
}

}  // namespace

int64_t NamedTensor::count() const { return static_cast<int64_t>(bytes.size()) / SizeOf(dtype); }

std::string NamedTensor::type() const { return TypeText(dtype, dims); }

std::string TypeText(DType dtype, const std::vector<int64_t>& dims) {
  std::string text;
  for (const int64_t dim : dims) text += (text.empty() ? "" : ", ") + std::to_string(dim);
  return NameOf(dtype) + ("[" + text + "]");
}

NamedTensor ParseTensor(const std::string& argument) {
  const size_t equals = argument.find('=');
  if (equals == std::string::npos || equals == 0) {
    Fail("\"" + argument + "\": expected NAME=2x3xf32=1,2,..., NAME=@FILE.npy or @FILE.npz");
  }
  const std::string name = argument.substr(0, equals), value = argument.substr(equals + 1);
  NamedTensor tensor = value.starts_with('@') ? ReadArray(value.substr(1), name) : ParseLiteral(value, argument);
  tensor.name = name;
  return tensor;
}

std::vector<NamedTensor> ParseTensors(const std::vector<std::string>& arguments) {
  std::vector<NamedTensor> tensors;
  for (const std::string& argument : arguments) {
    if (!argument.starts_with('@')) {
      tensors.push_back(ParseTensor(argument));
      continue;
    }
    NpzFile file(argument.substr(1));
    for (const std::string& name : file.Names()) tensors.push_back(file.Read(name));
  }
  return tensors;
}

NamedTensor ParseNpy(const std::string& file, const std::string& path) {
  if (file.size() < kPreamble || std::memcmp(file.data(), kMagic, sizeof(kMagic)) != 0) {
    FailFile(path + " is no .npy file of version 1.0");
  }
  const size_t header_size = static_cast<uint8_t>(file[8]) | static_cast<size_t>(static_cast<uint8_t>(file[9])) << 8;
  const std::string header = file.substr(kPreamble, header_size);
  NamedTensor tensor;
  const std::string descr = HeaderField(header, "descr", '\'', '\'');
  const auto* known = std::find(std::begin(kNumpy) + 1, std::end(kNumpy), descr);
  const bool is_bf16 = descr == "<V2" || descr == "|V2";
  if (!is_bf16 && (descr.empty() || known == std::end(kNumpy))) {
    FailFile(path + ": element type " + descr + " is not supported");
  }
  tensor.dtype = is_bf16 ? DType::kBF16 : static_cast<DType>(known - kNumpy);
  if (header.find("'fortran_order': False") == std::string::npos) FailFile(path + " is in Fortran order");
  for (std::string dim : Split(HeaderField(header, "shape", '(', ')'), ',')) {
    std::erase(dim, ' ');
    if (!dim.empty()) tensor.dims.push_back(ParseDim(dim));
  }
  if (file.size() != kPreamble + header_size + ByteCount(tensor)) FailFile(path + " has a wrong size");
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
  std::string content(kMagic, sizeof(kMagic));
  content += static_cast<char>(header.size() & 0xFF);
  content += static_cast<char>(header.size() >> 8);
  content += header;
  content.append(tensor.bytes.data(), tensor.bytes.size());
  WriteFile(path, content);
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
