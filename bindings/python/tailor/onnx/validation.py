"""What a node has to satisfy before its operator's function sees it."""
import math

import onnx

from .errors import ModelError, Unsupported

# Operators that changed before this opset are known only as they have been since.
OLDEST_OPSET = 7


def check_opsets(opsets):
    """Raises where a model is for operators that the installed onnx package cannot know."""
    newest = onnx.defs.onnx_opset_version()
    if opsets.get("", newest) > newest:
        raise Unsupported(f"opset {opsets['']} is newer than {newest}, the newest that is supported")


def schema(node):
    """The standard's definition of a node's operator."""
    try:
        return onnx.defs.get_schema(node.proto.op_type, node.opset, node.domain)
    except onnx.defs.SchemaError as error:
        where = f'domain "{node.domain}" version {node.opset}' if node.domain else f"opset {node.opset}"
        raise ModelError(f"{where} has no operator {node.proto.op_type}", node.label) from error


def check_node(node):
    """Raises where operands or attributes are not those that the standard lists."""
    proto, standard = node.proto, schema(node)
    if is_too_old(node.domain, node.opset, standard):
        node.unsupported(f"{proto.op_type} as in opset {node.opset} is not supported")
    for kind, count, least, most in (("operands", len(proto.input), standard.min_input, standard.max_input),
                                     ("results", len(proto.output), standard.min_output, standard.max_output)):
        if not least <= count <= most:
            node.fail(f"has {count} {kind}, not {least}" + (f" to {most}" if most > least else ""))
    for i, name in enumerate(proto.input):
        if not name and i < len(standard.inputs) and \
                standard.inputs[i].option == onnx.defs.OpSchema.FormalParameterOption.Single:
            node.fail(f'its operand "{standard.inputs[i].name}" is missing')
    _check_attributes(node, standard)


def is_too_old(domain, opset, standard):
    """Whether an operator changed between a node's opset and the oldest that is supported."""
    return not domain and opset < OLDEST_OPSET and \
        onnx.defs.get_schema(standard.name, OLDEST_OPSET).since_version != standard.since_version


def _check_attributes(node, standard):
    for attribute in node.proto.attribute:
        if attribute.name not in standard.attributes:
            node.fail(f'has the unknown attribute "{attribute.name}"')
        wanted = standard.attributes[attribute.name].type
        if int(wanted.value) != attribute.type:
            node.fail(f'its attribute "{attribute.name}" is no {wanted.name}')
    for name, attribute in standard.attributes.items():
        if attribute.required and not node.has(name):
            node.fail(f'its attribute "{name}" is missing')


def check_size(shape):
    """Raises where the fixed extents alone make more elements than can be counted."""
    if math.prod(dim for dim in shape if isinstance(dim, int)) >= 2**60:
        raise ModelError(f"{[dim if isinstance(dim, int) else '?' for dim in shape]} has too many elements")
