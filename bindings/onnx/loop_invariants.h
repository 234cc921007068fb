// Matrix products in a loop's body that are the same in every iteration, as in decoders with attention, whose keys are
// projected in the body.
#ifndef TAILOR_BINDINGS_ONNX_LOOP_INVARIANTS_H_
#define TAILOR_BINDINGS_ONNX_LOOP_INVARIANTS_H_

#include "bindings/onnx/node.h"
#include "bindings/onnx/proto.h"
#include "bindings/onnx/scope.h"

namespace tailor::onnx {

// Computes these products before the loop, and puts them into `scope`. Returns the body without their nodes. `kept`:
// the states that the body returns unchanged, by its names for them. `node`: the loop. The products are also computed,
// and their shapes checked, in runs where the loop has no iteration.
GraphProto WithoutInvariantMatmuls(const Node& node, const GraphProto& body, const Scope& kept, Scope& scope);

}  // namespace tailor::onnx

#endif  // TAILOR_BINDINGS_ONNX_LOOP_INVARIANTS_H_
