"""A model in float64 by onnx's own evaluator: which of two float32 results is nearer to the exact one."""
import numpy
import onnx
import onnx.helper
import onnx.numpy_helper
import onnx.reference

FLOAT, DOUBLE = onnx.TensorProto.FLOAT, onnx.TensorProto.DOUBLE
TYPED = ("to", "dtype")  # attributes that name an element type


def outputs(path, arrays):
    """The outputs of the model with every float32 of it, its inputs included, in float64."""
    proto = onnx.load(path)
    _widen_graph(proto.graph)
    for function in proto.functions:
        _widen_nodes(function.node)
    inputs = {name: array.astype(numpy.float64) if array.dtype == numpy.float32 else array for name, array in arrays.items()}
    return onnx.reference.ReferenceEvaluator(proto).run(None, inputs)


def _widen_graph(graph):
    for value in (*graph.input, *graph.output, *graph.value_info):
        if value.type.tensor_type.elem_type == FLOAT:
            value.type.tensor_type.elem_type = DOUBLE
    for tensor in graph.initializer:
        _widen_tensor(tensor)
    _widen_nodes(graph.node)


def _widen_nodes(nodes):
    for node in nodes:
        if node.op_type == "BatchNormalization":  # the evaluator's opset 9 trains; with momentum 1 statistics stay
            kept = [attribute for attribute in node.attribute if attribute.name != "momentum"]
            del node.attribute[:]
            node.attribute.extend([*kept, onnx.helper.make_attribute("momentum", 1.0)])
        for attribute in node.attribute:
            if attribute.name in TYPED and attribute.i == FLOAT:
                attribute.i = DOUBLE
            if attribute.HasField("t"):
                _widen_tensor(attribute.t)
            for graph in (*attribute.graphs, *([attribute.g] if attribute.HasField("g") else [])):
                _widen_graph(graph)


def _widen_tensor(tensor):
    if tensor.data_type == FLOAT:
        tensor.CopyFrom(onnx.numpy_helper.from_array(onnx.numpy_helper.to_array(tensor).astype(numpy.float64), tensor.name))
