"""The operators of a model that Tailor does not have, found before anything is imported."""
import collections
import functools

import onnx

from . import functions as _functions
from . import registry, validation
from .errors import Unsupported

# Operators that the standard defines by others which Tailor does not have.
_DEFINED_BY_MISSING = frozenset(["Bernoulli", "SequenceMap"])


class MissingOperators:
    """All nodes of one model whose operator is not supported; `functions` are the model's own, by domain and name."""

    def __init__(self, model, functions):
        self._opsets, self._counts, self._first = _functions.opsets(model), collections.Counter(), ""
        for node, domain, opset in _nodes(model, functions):
            if is_missing(domain, node.op_type, opset):
                self._counts[_name(domain, node.op_type)] += 1
                self._first = self._first or _functions.label(node)
        self._reached = any(is_missing(domain, node.op_type, opset)
                            for node, domain, opset in _nodes(model, functions, branches=False))

    def check(self):
        """Raises where a node that is imported in any case is of a missing operator. A branch may be left out."""
        if self._reached:
            raise self._error(self._first)

    def check_node(self, node):
        """Raises where the operator of a node of the model is missing."""
        if is_missing(node.domain, node.proto.op_type, node.opset) and \
                _name(node.domain, node.proto.op_type) in self._counts:
            raise self._error(node.label)

    def _error(self, label):
        counts = sorted(self._counts.items(), key=lambda item: (-item[1], item[0]))
        names = ", ".join(f"{name} ({count} node{'s' * (count > 1)})" for name, count in counts)
        number = "1 operator is" if len(counts) == 1 else f"{len(counts)} operators are"
        return Unsupported(f"{number} not supported: {names}; the model is of opset {self._opsets.get('', 0)}", label)


@functools.lru_cache(maxsize=None)
def is_missing(domain, name, opset):
    """Whether neither the importer nor a definition by other operators gives an operator its meaning."""
    if not domain and not opset:  # a model without the default domain is wrong, which its nodes tell
        return False
    try:
        schema = onnx.defs.get_schema(name, opset, domain)
    except (onnx.defs.SchemaError, TypeError, OverflowError):
        return True
    if validation.is_too_old(domain, opset, schema):
        return True
    if registry.find_operator(domain, name, opset) or registry.find_glue(domain, name):
        return False
    if not domain and name in _DEFINED_BY_MISSING:
        return True
    return not (schema.has_function or schema.has_context_dependent_function)


def _nodes(model, functions, branches=True):
    """(node, domain, opset) of every node of the graph, of subgraphs and of functions that are called, but the calls.

    branches: those of If too."""
    waiting, called = collections.deque([(model.graph.node, _functions.opsets(model))]), set()
    while waiting:
        nodes, opsets = waiting.popleft()
        for node in nodes:
            key = domain, _ = "" if node.domain == "ai.onnx" else node.domain, node.op_type
            if key not in functions:
                yield node, domain, opsets.get(domain, 0)
            elif key not in called:
                called.add(key)
                waiting.append((functions[key].node, {**opsets, **_functions.opsets(functions[key])}))
            if branches or key != ("", "If"):
                waiting.extend((graph.node, opsets) for graph in _functions.subgraphs(node))


def _name(domain, name):
    return f"{domain}::{name}" if domain else name
