"""Branches and loops."""
import collections

import numpy

from .closures import Closure, Region
from .loops import Loop
from .registry import operator
from .tensors import Tensor


def _taken(node, graph):
    """The outputs of a branch that is known to be taken; it sees the names around it."""
    scope = collections.ChainMap({}, node.scope)
    for initializer in graph.initializer:
        scope[initializer.name] = node.importer.initializer(initializer)
    node.importer.run_nodes(graph, node.opsets, scope, node.depth + 1)
    return [_output(node, scope, value.name) for value in graph.output]


def _output(node, scope, name):
    if name not in scope:
        node.fail(f'no node of the subgraph computes its output "{name}"')
    return scope[name]


@operator("If")
def _if(node, condition):
    branches = [node.attribute("then_branch"), node.attribute("else_branch")]
    if condition.item() is not None:
        return _taken(node, branches[0 if condition.item() else 1])
    if len(branches[0].output) != len(branches[1].output):
        node.fail(f"the branches return {len(branches[0].output)} and {len(branches[1].output)} results")
    closure = Closure(node, branches)
    regions, results = [], []
    for name, branch in zip(("then", "else"), branches):
        region = Region(closure, name)
        scope = region.capture()
        results.append(region.run(branch, scope))
        for i, tensor in enumerate(results[-1]):
            region.graph.output(f"result{i}", tensor.value)
        regions.append(region)
    if [tensor.rank for tensor in results[0]] != [tensor.rank for tensor in results[1]]:
        node.depends_on_data(condition, "the rank of what the branches return")
    shapes, known = _joined(node, regions, results)
    values = node.graph.if_(node.scalar(condition), regions[0].captured, regions[0].graph,
                            regions[1].graph, () if known else [dim for shape in shapes for dim in shape])
    return [node.tensor(value, tensor.narrow) for value, tensor in zip(values, results[0])]


def _joined(node, regions, results):
    """(extents of the results, whether all are known before the branch is)."""
    shapes, known = [], True
    for i, (one, other) in enumerate(zip(*results)):
        if one.dtype != other.dtype or one.narrow != other.narrow:
            node.fail(f"the branches return {one.dtype} and {other.dtype} as result {i}")
        shape = []
        for lhs, rhs in zip(one.shape, other.shape):
            lhs, rhs = regions[0].outer(lhs), regions[1].outer(rhs)
            same = None not in (lhs, rhs) and node.extents.text(lhs) == node.extents.text(rhs)
            known = known and same
            shape.append(lhs if same else node.extents.fresh("n"))
        shapes.append(shape)
    return shapes, known


@operator("Loop")
def _loop(node, limit, condition, *initial):
    body, count = node.attribute("body"), len(initial)
    if len(body.input) != 2 + count or len(body.output) < 1 + count or len(node.proto.output) > len(body.output) - 1:
        node.fail(f"its body has {len(body.input)} inputs and {len(body.output)} outputs for {count} states")
    names = [value.name for value in body.input]
    kept = [i for i in range(count) if _returns(body, body.output[1 + i].name, names[2 + i])]
    changed = [i for i in range(count) if i not in kept]
    closure = Closure(node, [body], {names[2 + i]: initial[i] for i in kept}, [initial[i] for i in changed])

    def build(region, scope, iteration, states):
        scope[names[0]] = _like(region, iteration, body.input[0])
        scope[names[1]] = Tensor(region.extents, region.graph, array=numpy.asarray(True))
        scope.update(zip((names[2 + i] for i in changed), states))
        outputs = region.run(body, scope)
        return outputs[0], [outputs[1 + i] for i in changed], outputs[1 + count:]

    loop = Loop(closure, [names[0], *(names[2 + i] for i in changed)], [initial[i] for i in changed], build)
    states, rows = loop.run(_trips(node, limit), _first(node, condition))
    after = dict(zip(changed, states))
    return [after.get(i, tensor) for i, tensor in enumerate(initial)] + rows


def _returns(graph, output, source):
    """Whether a subgraph returns what it got as `source`."""
    copies = {node.output[0]: node.input[0] for node in graph.node if node.op_type == "Identity" and not node.domain}
    for _ in range(1 + len(copies)):
        if output == source:
            return True
        output = copies.get(output)
    return False


def _like(region, scalar, info):
    """A scalar in the rank that a body declares: 0, or 1 with one element."""
    if len(info.type.tensor_type.shape.dim) != 1:
        return scalar
    return region.tensor(region.graph.reshape(scalar.value, [1]))


def _trips(node, limit):
    """A loop's bound: an int, an extent, a value, or None."""
    if limit is None:
        return None
    if limit.entries is not None:
        return limit.entries[0]
    return node.scalar(limit)


def _first(node, condition):
    """Whether a loop begins: a bool or a value."""
    if condition is None or condition.item() is not None:
        return condition is None or bool(condition.item())
    return node.scalar(condition)


@operator("Scan", since=9)
def _scan(node, *operands):
    body, count = node.attribute("body"), node.attribute("num_scan_inputs")
    states, inputs = operands[:len(operands) - count], operands[len(operands) - count:]
    outputs = len(body.output) - len(states)
    if count < 1 or len(operands) != len(body.input) or outputs < 0 or len(node.proto.output) > len(body.output):
        node.fail(f"its body has {len(body.input)} inputs and {len(body.output)} outputs for {len(states)} states and "
                  f"{count} inputs that are scanned")
    axes = [node.axis(axis, tensor.rank) for axis, tensor in zip(_each(node, "scan_input_axes", count), inputs)]
    backwards = _each(node, "scan_input_directions", count)
    trips = inputs[0].shape[axes[0]]
    for axis, tensor in zip(axes, inputs):
        if node.extents.text(tensor.shape[axis]) != node.extents.text(trips):
            node.graph.assume_equal(trips, tensor.shape[axis])
    names = [value.name for value in body.input]
    scanned = names[len(states):]
    closure = Closure(node, [body], dict(zip(scanned, inputs)), states)

    def build(region, scope, iteration, tensors):
        scope.update(zip(names, tensors))
        last = region.extents.as_value(region.extents.sub(region.dim(trips), 1)) if any(backwards) else None
        for name, axis, back in zip(scanned, axes, backwards):
            index = region.graph.sub(last, iteration.value) if back else iteration.value
            scope[name] = region.row(scope[name], index, axis)
        results = region.run(body, scope)
        return None, results[:len(states)], results[len(states):]

    loop = Loop(closure, ["iteration", *names[:len(states)]], states, build)
    back = _each(node, "scan_output_directions", outputs)
    after, rows = loop.run(trips, True, {i for i in range(outputs) if back[i]})
    return after + [_moved(node, row, axis) for row, axis in zip(rows, _each(node, "scan_output_axes", outputs))]


@operator("Scan", since=8)
def _scan_batches(node, lengths, *operands):
    """One scan for each batch: the first dim of every operand and result."""
    if lengths is not None:
        node.unsupported("lengths for each batch are not supported")
    body, names = node.attribute("body"), [f"operand{i}" for i in range(len(operands))]
    closure = Closure(node, [body], dict(zip(names, operands)))

    def build(region, scope, iteration, states):
        inner = type(node)(region.importer, node.proto, node.opsets, scope, node.depth + 1)
        inner = inner.as_if(scan_input_directions=_each(node, "directions", node.attribute("num_scan_inputs")))
        return None, [], _scan(inner, *(region.row(scope[name], iteration.value) for name in names))

    return Loop(closure, ["batch"], [], build).run(operands[0].shape[0], True)[1]


def _each(node, name, count):
    """An attribute of one integer for each of `count`; 0 by default."""
    values = node.attribute(name, [0] * count)
    if len(values) != count:
        node.fail(f"{name} has {len(values)} entries, not {count}")
    return values


def _moved(node, rows, axis):
    """A stack of rows along another axis than the first."""
    axis, order = node.axis(axis, rows.rank), list(range(1, rows.rank))
    order.insert(axis, 0)
    return rows if axis == 0 else node.tensor(node.graph.transpose(rows.value, order), rows.narrow)
