"""Node order, model-local functions, and operators that the standard defines by others."""
import onnx
from onnx import helper

from . import dtypes, validation
from .errors import ModelError, Unsupported


def ordered(nodes, scope):
    """The nodes, each after those that it reads; models have them so, but files may not."""
    produced = {}
    for node in nodes:
        for name in filter(None, node.output):
            if name in produced or name in scope:
                raise ModelError(f'"{name}" is computed twice', label(node))
            produced[name] = node
    done, order = set(scope), []
    for node in nodes:
        _visit(node, produced, done, order)
    return order


def _visit(node, produced, done, order):
    """Appends `node` after its producers, without recursion: chains may be long."""
    stack, active = [node], set()
    while stack:
        top = stack[-1]
        outputs = [name for name in top.output if name]
        if outputs and outputs[0] in done:
            active.discard(id(top))
            stack.pop()
            continue
        active.add(id(top))
        missing = [name for name in reads(top) if name not in done]
        if not missing:
            stack.pop()
            active.discard(id(top))
            order.append(top)
            done.update(outputs)
            continue
        producer = produced.get(missing[0])
        if producer is None:
            raise ModelError(f'reads "{missing[0]}", which nothing computes', label(top))
        if id(producer) in active:
            raise ModelError(f'needs its own result "{missing[0]}": the graph has a cycle', label(top))
        stack.append(producer)


def reads(node, depth=0):
    """Every outer name that a node reads, those of its subgraphs too."""
    if depth > 64:
        raise ModelError("graphs nest deeper than 64", label(node))
    yield from filter(None, node.input)
    for graph in subgraphs(node):
        yield from free_names(graph, depth + 1)


def subgraphs(node):
    """The graphs among a node's attributes."""
    for attribute in node.attribute:
        yield from [attribute.g] * attribute.HasField("g") + list(attribute.graphs)


def free_names(graph, depth=0):
    """Every outer name that a subgraph reads."""
    inner = {v.name for v in graph.input} | {v.name for v in graph.initializer}
    inner.update(name for child in graph.node for name in child.output)
    for child in graph.node:
        yield from (name for name in reads(child, depth) if name not in inner)
    yield from (v.name for v in graph.output if v.name not in inner)


def label(node):
    """A NodeProto as errors name it."""
    return f'{node.op_type} node "{node.name or next(iter(node.output), "")}"'


def opsets(proto):
    """{domain: version} of a model or function."""
    return {"" if entry.domain == "ai.onnx" else entry.domain: entry.version for entry in proto.opset_import}


def call(node, function, inputs):
    """What a function's body computes for a node's inputs."""
    body = onnx.FunctionProto()
    body.CopyFrom(function)
    given = {attribute.name: attribute for attribute in node.proto.attribute}
    given = {**{attribute.name: attribute for attribute in function.attribute_proto}, **given}
    for child in body.node:
        _bind_attributes(child, given)
    scope = {name: tensor for name, tensor in zip(function.input, inputs) if tensor is not None}
    absent = set(function.input) - set(scope)
    for child in body.node:
        for i, name in enumerate(child.input):
            if name in absent:
                child.input[i] = ""
    node.importer.run_nodes(body, {**node.opsets, **opsets(function)}, scope, node.depth + 1)
    return [scope.get(name) for name in function.output]


def _bind_attributes(node, given):
    """Replaces references to the function's attributes by what the caller gave."""
    kept = []
    for attribute in node.attribute:
        if attribute.ref_attr_name:
            if attribute.ref_attr_name not in given:
                continue
            bound = onnx.AttributeProto()
            bound.CopyFrom(given[attribute.ref_attr_name])
            bound.name = attribute.name
            attribute = bound
        elif attribute.HasField("g"):
            for child in attribute.g.node:
                _bind_attributes(child, given)
        kept.append(attribute)
    kept = [onnx.AttributeProto.FromString(attribute.SerializeToString()) for attribute in kept]
    del node.attribute[:]
    node.attribute.extend(kept)


def expand(node, inputs):
    """What the standard's own definition of an operator by others computes."""
    proto, schema = node.proto, validation.schema(node)
    function = _body(node, schema, inputs)
    if function is None:
        raise Unsupported(f"op {proto.op_type} is not supported yet", node.label)
    for name, attribute in schema.attributes.items():
        if not node.has(name) and attribute.default_value.name:
            proto.attribute.append(attribute.default_value)
    return call(node, function, inputs)


def _body(node, schema, inputs):
    if schema.has_context_dependent_function:
        versions = [v for v in schema.context_dependent_function_opset_versions if v <= node.opset]
        types = [onnx.TypeProto() if tensor is None else _type(node, tensor) for tensor in inputs]
        for version in sorted(versions, reverse=True):
            text = schema.get_context_dependent_function_with_opset_version(
                version, node.proto.SerializeToString(), [t.SerializeToString() for t in types])
            if text:
                function = onnx.FunctionProto.FromString(text)
                return function
    if schema.has_function:
        versions = [v for v in schema.function_opset_versions if v <= node.opset]
        if versions:
            text = schema.get_function_with_opset_version(max(versions))
            function = onnx.FunctionProto.FromString(text if isinstance(text, bytes) else text.SerializeToString())
            if schema.name == "AffineGrid":
                _keep_batch(function.node)
            return function
    return None


def _keep_batch(nodes):
    """Gives axes to the Squeeze nodes in AffineGrid's definition, which lose the batch of [N, 1, 3] where it is 1."""
    for node in nodes:
        if node.op_type == "Squeeze" and len(node.input) == 1:
            node.input.append("one_1d")  # a constant of the definition
        for graph in subgraphs(node):
            _keep_batch(graph.node)


def _type(node, tensor):
    shape = [dim if isinstance(dim, int) else node.extents.text(dim) for dim in tensor.shape]
    return helper.make_tensor_type_proto(tensor.narrow or dtypes.to_onnx(tensor.dtype), shape)
