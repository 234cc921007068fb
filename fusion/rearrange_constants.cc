#include "fusion/rearrange_constants.h"

#include <cstdlib>
#include <cstring>
#include <string>

#include "absl/strings/str_cat.h"
#include "graph/element.h"

namespace tailor {
namespace {

// "query+key+value"; unnamed constants are left out.
std::string JoinedName(const Graph& from, absl::Span<const NodeId> constants) {
  std::string name;
  for (NodeId id : constants) {
    const std::string& part = from.node(id).string("name");
    if (!part.empty()) absl::StrAppend(&name, name.empty() ? "" : "+", part);
  }
  return name;
}

// The hash of the whole if some part has a declared hash in place of its bytes; else nullopt.
std::optional<uint64_t> JoinedHash(const Graph& from, absl::Span<const NodeId> constants) {
  bool declared = false;
  uint64_t hash = 0;
  for (NodeId id : constants) {
    declared |= from.constant_data(id).declared_hash.has_value();
    hash = hash * 0x9fb21c651e98df25u + from.constant_data(id).Hash();
  }
  return declared ? std::optional(hash) : std::nullopt;
}

absl::StatusOr<std::shared_ptr<char>> Allocate(uint64_t bytes) {
  std::shared_ptr<char> memory(static_cast<char*>(std::malloc(bytes)), [](char* p) { std::free(p); });
  if (memory == nullptr) return absl::ResourceExhaustedError("no memory to rearrange constants");
  return memory;
}

}  // namespace

absl::StatusOr<Value> JoinMatrices(const Graph& from, absl::Span<const NodeId> matrices, bool transposed, Graph& to) {
  const TensorType& first = from.type({matrices.front(), 0});
  const int64_t rows = transposed ? 1 : *first.shape[0].constant();
  uint64_t bytes = 0;
  int64_t columns = 0;
  for (NodeId id : matrices) {
    bytes += from.constant_data(id).size;
    columns += *from.type({id, 0}).shape[transposed ? 0 : 1].constant();
  }
  absl::StatusOr<std::shared_ptr<char>> memory = Allocate(bytes);
  if (!memory.ok()) return memory.status();
  char* out = memory->get();
  for (int64_t row = 0; row < rows; ++row) {
    for (NodeId id : matrices) {
      const ConstantData& data = from.constant_data(id);
      const uint64_t row_bytes = data.size / rows;
      std::memcpy(out, static_cast<const char*>(data.data) + row * row_bytes, row_bytes);
      out += row_bytes;
    }
  }
  Shape shape = first.shape;
  shape[transposed ? 0 : 1] = columns;
  const void* data = memory->get();
  return to.AddConstant(JoinedName(from, matrices), first.dtype, shape,
                        {*std::move(memory), data, bytes, JoinedHash(from, matrices)});
}

absl::StatusOr<Value> JoinVectors(const Graph& from, DType dtype, absl::Span<const VectorPart> parts, Graph& to) {
  const uint64_t width = SizeOf(dtype);
  std::vector<NodeId> constants;
  int64_t columns = 0;
  for (const VectorPart& part : parts) {
    if (part.constant >= 0) constants.push_back(part.constant);
    columns += part.columns;
  }
  absl::StatusOr<std::shared_ptr<char>> memory = Allocate(columns * width);
  if (!memory.ok()) return memory.status();
  char* out = memory->get();
  for (const VectorPart& part : parts) {
    uint64_t fill = 0;
    ElementFromDouble(dtype, part.fill, &fill);
    const void* data = part.constant < 0 ? &fill : from.constant_data(part.constant).data;
    const bool whole = part.constant >= 0 && from.constant_data(part.constant).size == part.columns * width;
    for (int64_t column = 0; column < part.columns; ++column, out += width) {
      std::memcpy(out, static_cast<const char*>(data) + (whole ? column * width : 0), width);
    }
  }
  const void* data = memory->get();
  return to.AddConstant(JoinedName(from, constants), dtype, Shape{columns},
                        {*std::move(memory), data, columns * width, JoinedHash(from, constants)});
}

absl::StatusOr<Value> TransposeMatrices(const Graph& from, NodeId constant, int64_t count, int64_t rows,
                                        int64_t columns, const Shape& shape, Graph& to) {
  const DType dtype = from.type({constant, 0}).dtype;
  const uint64_t width = SizeOf(dtype);
  const ConstantData& source = from.constant_data(constant);
  absl::StatusOr<std::shared_ptr<char>> memory = Allocate(source.size);
  if (!memory.ok()) return memory.status();
  const char* in = static_cast<const char*>(source.data);
  char* out = memory->get();
  for (int64_t matrix = 0; matrix < count; ++matrix) {
    for (int64_t column = 0; column < columns; ++column) {
      for (int64_t row = 0; row < rows; ++row, out += width) {
        std::memcpy(out, in + ((matrix * rows + row) * columns + column) * width, width);
      }
    }
  }
  const void* data = memory->get();
  std::optional<uint64_t> hash = JoinedHash(from, {constant});
  constexpr uint64_t kFactor = 0x9fb21c651e98df25u;
  if (hash) *hash = (*hash * kFactor + count) * kFactor + columns;  // other bytes than those of `constant`
  return to.AddConstant(JoinedName(from, {constant}), dtype, shape, {*std::move(memory), data, source.size, hash});
}

}  // namespace tailor
