// Loop-invariant matmuls: decoders with attention often project their keys in the loop's body.
#ifndef TAILOR_BINDINGS_ONNX_LOOP_INVARIANTS_H_
#define TAILOR_BINDINGS_ONNX_LOOP_INVARIANTS_H_

#include "bindings/onnx/node.h"
#include "bindings/onnx/proto.h"
#include "bindings/onnx/scope.h"

namespace tailor::onnx {

// Computes the loop-invariant MatMul and Gemm nodes of `body` before the loop `node`, and puts their results into
// `scope`. Returns the body without them. `kept`: the states that the body returns unchanged, by its names for them.
// Runs without an iteration compute them, too, and check their shapes.
GraphProto WithoutInvariantMatmuls(const Node& node, const GraphProto& body, const Scope& kept, Scope& scope);

}  // namespace tailor::onnx

#endif  // TAILOR_BINDINGS_ONNX_LOOP_INVARIANTS_H_
