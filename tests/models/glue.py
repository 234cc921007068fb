"""Which nodes of a model are shape glue: they compute nothing but the shapes, bounds and axes of other nodes."""

# Per op type the operands that say where or how large, not what.
_SHAPE_OPERANDS = {
    "ConstantOfShape": {0}, "Expand": {1}, "Range": {0, 1, 2}, "ReduceMean": {1}, "Reshape": {1}, "Resize": {2, 3},
    "Slice": {1, 2, 3, 4}, "Split": {1}, "Squeeze": {1}, "Tile": {1}, "Unsqueeze": {1},
}


def glue(graph):
    """The results of an ONNX graph that are used as nothing but shapes, directly or through other such nodes."""
    uses = {}
    for node in graph.node:
        for i, name in enumerate(node.input):
            uses.setdefault(name, []).append((node, i))
    wanted = {value.name for value in graph.output}
    found = set()
    for node in reversed(graph.node):
        if wanted.isdisjoint(node.output) and all(
                user.output[0] in found and user.op_type != "Shape" or i in _SHAPE_OPERANDS.get(user.op_type, ())
                for name in node.output for user, i in uses.get(name, ())):
            found.update(node.output)
    return found
