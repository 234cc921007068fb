// The table of ONNX operators. A family's rows stand beside its functions, in operators_<family>.cc.
#ifndef TAILOR_BINDINGS_ONNX_OPERATORS_H_
#define TAILOR_BINDINGS_ONNX_OPERATORS_H_

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "bindings/frontend/tensor.h"
#include "bindings/onnx/proto.h"

namespace tailor::onnx {

class Node;
using Tensors = std::vector<frontend::Tensor>;
// The outputs of a node, in order; trailing ones that the node does not name may be left out.
using Operator = Tensors (*)(const Node& node);

// An operator from opset `since` until its next row.
struct OperatorRow {
  const char* domain;  // "": the default domain
  const char* name;
  int since;
  // Names of operands and results; "?" marks optional ones, "*" the last as one of any number: "X roi? scales?", "Xs*".
  const char* inputs;
  const char* outputs;
  // name:type, name:type=default, or name:type! for a required one. Types: float, int, string, tensor, graph, floats,
  // ints, strings, tensors, graphs. The default of a list is separated by commas.
  const char* attributes;
  // How elements of a narrow type (frontend/narrow.h) may enter: kMoves gives results of the same type.
  enum class Narrow : uint8_t { kRefuses, kReads, kMoves };
  Operator function;
  Narrow narrow = Narrow::kRefuses;
  bool takes_sequences = false;
};
constexpr auto kReads = OperatorRow::Narrow::kReads, kMoves = OperatorRow::Narrow::kMoves;

// The families.
std::span<const OperatorRow> ElementwiseOperators();
std::span<const OperatorRow> ActivationOperators();
std::span<const OperatorRow> QuantizationOperators();
std::span<const OperatorRow> ShapeOperators();
std::span<const OperatorRow> FillOperators();
std::span<const OperatorRow> RandomOperators();
std::span<const OperatorRow> SliceOperators();
std::span<const OperatorRow> PadOperators();
std::span<const OperatorRow> IndexingOperators();
std::span<const OperatorRow> ScatterOperators();
std::span<const OperatorRow> MatmulOperators();
std::span<const OperatorRow> ConvolutionOperators();
std::span<const OperatorRow> PoolOperators();
std::span<const OperatorRow> ReductionOperators();
std::span<const OperatorRow> NormalizationOperators();
std::span<const OperatorRow> ResamplingOperators();
std::span<const OperatorRow> SamplingOperators();
std::span<const OperatorRow> DetectionOperators();
std::span<const OperatorRow> SuppressionOperators();
std::span<const OperatorRow> SignalOperators();
std::span<const OperatorRow> ControlOperators();
std::span<const OperatorRow> SequenceOperators();
std::span<const OperatorRow> RecurrentOperators();
std::span<const OperatorRow> AttentionOperators();
std::span<const OperatorRow> FlexAttentionOperators();
std::span<const OperatorRow> AttentionContribOperators();
std::span<const OperatorRow> GroupQueryOperators();
std::span<const OperatorRow> TrainingOperators();
std::span<const OperatorRow> MachineLearningOperators();
std::span<const OperatorRow> TreeOperators();
std::span<const OperatorRow> SupportVectorOperators();
std::span<const OperatorRow> MicrosoftOperators();
std::span<const OperatorRow> MicrosoftQuantizedOperators();

// The row for an operator at an opset of its domain, or nullptr.
const OperatorRow* FindOperator(std::string_view domain, std::string_view name, int64_t opset);
// All rows, sorted by domain, name and opset.
std::vector<const OperatorRow*> AllOperators();
inline constexpr int64_t kNewestOpset = 27;
inline constexpr int64_t kOldestOpset = 6;

// One attribute of a row.
struct AttributeRow {
  std::string_view name;
  AttributeType type;
  bool required;
  bool has_default;
  std::string_view default_text;
};
std::vector<AttributeRow> AttributesOf(const OperatorRow& row);

// A row's operands or results.
struct Signature {
  struct Parameter {
    std::string_view name;
    bool optional;
  };
  std::vector<Parameter> parameters;
  bool variadic = false;
  size_t least() const;  // the number of leading parameters that are required
};
Signature SignatureOf(const char* parameters);

}  // namespace tailor::onnx

#endif  // TAILOR_BINDINGS_ONNX_OPERATORS_H_
