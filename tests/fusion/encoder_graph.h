// A sentence encoder like all-MiniLM-L6-v2, piece by piece, over symbols B and S.
#ifndef TAILOR_TESTS_FUSION_ENCODER_GRAPH_H_
#define TAILOR_TESTS_FUSION_ENCODER_GRAPH_H_

#include <string>
#include <vector>

#include "graph/graph.h"

namespace tailor {

// Every member aborts the test on an error. Constants hold distinct numbers, so none merge.
struct EncoderGraph {
  Graph graph{"encoder"};
  DimExpr B = Symbol("B", 512), S = Symbol("S", 256);

  Value Input(const std::string& name, Shape shape, DType dtype = DType::kF32);
  Value Constant(const std::string& name, std::vector<int64_t> shape);
  Value Apply(OpKind op, std::vector<Value> operands, Attributes attributes = {});
  const Graph& Return(Value value);

  Value Embeddings();                                                  // [B, S, 384]
  Value LayerNormOf(Value x);                                          // scale and bias as constants
  Value Linear(Value x, int64_t columns, int64_t rows);                // x w^T + b
  Value Heads(Value x);                                                // [B, S, 384] -> [B, 12, S, 32]
  Value AttentionOf(Value query, Value key, Value value, Value mask);  // all [B, S, 384]
  Value Layer(Value x, Value mask);
  Value Pooled(Value x, Value mask);  // masked mean over S, then L2 normalised
  Value Encoder(int layers);          // from inputs "ids" and "mask"

 private:
  DimExpr Symbol(const char* name, int64_t max);
  int constants_ = 0;
};

}  // namespace tailor

#endif  // TAILOR_TESTS_FUSION_ENCODER_GRAPH_H_
