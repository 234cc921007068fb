// ONNX models as plain structs that point into the file's bytes. Field numbers: onnx/onnx.proto.
#ifndef TAILOR_BINDINGS_ONNX_PROTO_H_
#define TAILOR_BINDINGS_ONNX_PROTO_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace tailor::onnx {

// TensorProto.DataType.
enum class DataType : int32_t {
  kUndefined = 0,
  kFloat = 1,
  kUint8 = 2,
  kInt8 = 3,
  kUint16 = 4,
  kInt16 = 5,
  kInt32 = 6,
  kInt64 = 7,
  kString = 8,
  kBool = 9,
  kFloat16 = 10,
  kDouble = 11,
  kUint32 = 12,
  kUint64 = 13,
  kComplex64 = 14,
  kComplex128 = 15,
  kBfloat16 = 16,
  kFloat8E4M3FN = 17,
  kFloat8E4M3FNUZ = 18,
  kFloat8E5M2 = 19,
  kFloat8E5M2FNUZ = 20,
  kUint4 = 21,
  kInt4 = 22,
  kFloat4E2M1 = 23,
  kFloat8E8M0 = 24,
  kUint2 = 25,
  kInt2 = 26,
};

// AttributeProto.AttributeType.
enum class AttributeType : int32_t {
  kUndefined = 0,
  kFloat = 1,
  kInt = 2,
  kString = 3,
  kTensor = 4,
  kGraph = 5,
  kFloats = 6,
  kInts = 7,
  kStrings = 8,
  kTensors = 9,
  kGraphs = 10,
  kSparseTensor = 11,
  kSparseTensors = 12,
  kTypeProto = 13,
  kTypeProtos = 14,
};

struct TensorProto {
  std::string_view name;
  int32_t data_type = 0;
  std::vector<int64_t> dims;
  bool has_raw_data = false, is_external = false;
  std::string_view raw_data;
  std::vector<float> float_data;
  std::vector<int32_t> int32_data;
  std::vector<int64_t> int64_data;
  std::vector<double> double_data;
  std::vector<uint64_t> uint64_data;
  std::vector<std::string_view> string_data;
  std::vector<std::pair<std::string_view, std::string_view>> external_data;
};

struct DimProto {
  enum class Kind { kUnknown, kValue, kParam } kind = Kind::kUnknown;
  int64_t value = 0;
  std::string_view param;
};

struct ValueInfo {
  enum class Kind { kNone, kTensor, kSequence, kMap, kOptional, kSparseTensor, kOpaque } kind = Kind::kNone;
  std::string_view name;
  int32_t elem_type = 0;
  bool has_shape = false;
  std::vector<DimProto> dims;
};

struct GraphProto;

struct AttributeProto {
  std::string_view name, reference;  // `reference`: the function's attribute that gives the value
  AttributeType type = AttributeType::kUndefined;
  double f = 0;
  int64_t i = 0;
  std::string_view s;
  std::shared_ptr<const TensorProto> t;
  std::shared_ptr<const GraphProto> g;
  std::vector<double> floats;
  std::vector<int64_t> ints;
  std::vector<std::string_view> strings;
  std::vector<std::shared_ptr<const TensorProto>> tensors;
  std::vector<std::shared_ptr<const GraphProto>> graphs;
};

struct NodeProto {
  std::string_view name, op_type, domain;  // "ai.onnx" is ""
  std::vector<std::string_view> inputs, outputs;
  std::vector<AttributeProto> attributes;

  const AttributeProto* Find(std::string_view attribute) const;
  // `Gather node "x"`: as errors name it.
  std::string Label() const;
};

struct GraphProto {
  std::string_view name;
  std::vector<NodeProto> nodes;
  std::vector<TensorProto> initializers;
  bool has_sparse_initializers = false;
  std::vector<ValueInfo> inputs, outputs;
  std::vector<std::string_view> value_infos;  // encoded; types of other values, as exporters inferred them
  int levels = 1;                             // of graphs within one another
  int64_t size = 0;                           // nodes, those of subgraphs too
};

// An entry of GraphProto::value_infos.
ValueInfo ParseValueInfo(std::string_view bytes);

// Sets levels and size from the nodes and their graphs. Fails if they are too many.
void Measure(GraphProto* graph);

using Opsets = std::map<std::string_view, int64_t>;  // version by domain
// The version of a domain; 0 if there is none.
int64_t OpsetOf(const Opsets& opsets, std::string_view domain);

struct FunctionProto {
  std::string_view name, domain;
  std::vector<std::string_view> inputs, outputs;
  std::vector<AttributeProto> defaults;
  std::vector<NodeProto> nodes;
  Opsets opsets;
};

// A function's versions; those that it does not give are its caller's.
Opsets OpsetsIn(const FunctionProto& function, const Opsets& caller);

struct ModelProto {
  Opsets opsets;
  std::shared_ptr<const GraphProto> graph;
  std::vector<FunctionProto> functions;
};

inline constexpr int64_t kMaxNodes = 1'000'000;  // of a model, with each call of a function and each import of a body

// Throws frontend::Error for bytes that are not a model. The result points into `bytes`.
ModelProto ParseModel(std::string_view bytes);

}  // namespace tailor::onnx

#endif  // TAILOR_BINDINGS_ONNX_PROTO_H_
