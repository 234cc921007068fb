"""Branches whose condition is known while importing."""
import collections

from .registry import operator


def run_body(node, graph, inputs):
    """The outputs of a subgraph for its inputs; it sees the names around it."""
    scope = collections.ChainMap({}, node.scope)
    for value, tensor in zip(graph.input, inputs):
        scope[value.name] = tensor
    for initializer in graph.initializer:
        scope[initializer.name] = node.constant(node.importer.constants.array(initializer))
    node.importer.run_nodes(graph, node.opsets, scope, node.depth + 1)
    missing = next((value.name for value in graph.output if value.name not in scope), None)
    if missing is not None:
        node.fail(f'no node of the subgraph computes its output "{missing}"')
    return [scope[value.name] for value in graph.output]


@operator("If")
def _if(node, condition):
    if condition.item() is None:
        node.unsupported("op If with a condition that depends on data is not supported yet")
    return run_body(node, node.attribute("then_branch" if condition.item() else "else_branch"), [])
