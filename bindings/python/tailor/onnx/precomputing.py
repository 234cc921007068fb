"""Nodes that only constants reach, however large: Tailor compiles and runs them while importing."""
import math

import numpy

from .. import errors as _errors
from . import functions
from .errors import ModelError
from .tensors import MAX_ENTRIES, Tensor

# A function's body that reads no array of so many elements is not worth a compilation; a model is.
_LARGE = 1 << 12
# The same bytes on every machine that imports.
_TARGET = "x86-64-v2"
# Operators whose result is the operand's memory under another shape, and all that the graph has as views.
_RESHAPES = frozenset(["Flatten", "Reshape", "Squeeze", "Unsqueeze"])
_VIEWS = _RESHAPES | {"Transpose"}


def precompute(importer, body, nodes, opsets, scope, depth):
    """Puts what constants alone give of a body's nodes into `scope`; returns the nodes that are left.

    A result larger than its operands stays in the graph, as does a view of what other nodes read as it is."""
    constant = _reached(nodes, scope)
    if not any(_is_large(scope.get(name)) if depth else name for node in constant for name in node.input):
        return nodes
    outputs = {getattr(value, "name", value) for value in body.output}
    shared = _read(nodes, constant) | outputs
    work = _Constants(importer, opsets, scope, depth)
    done = [node for node in constant
            if not (node.op_type in _VIEWS and node.input[0] in shared) and work.add(node)]
    if not work.finish(_read(nodes, done) | outputs):
        return nodes
    return _without(nodes, done)


def _reached(nodes, scope):
    """The nodes that read constants alone, directly or from one another."""
    known, out = set(), []
    for node in nodes:
        if all(not name or name in known or (name in scope and scope[name].array is not None)
               for name in functions.reads(node)) and not _has_subgraphs(node):
            known.update(node.output)
            out.append(node)
    return out


def _has_subgraphs(node):
    return any(attribute.HasField("g") or attribute.graphs for attribute in node.attribute)


def _is_large(tensor):
    return tensor is not None and tensor.array is not None and tensor.array.size >= _LARGE


def _without(nodes, some):
    left_out = set(map(id, some))
    return [node for node in nodes if id(node) not in left_out]


def _read(nodes, some):
    """What the other nodes read."""
    return {name for node in _without(nodes, some) for name in functions.reads(node)}


class _Constants:
    """A graph of constants: large ones are its inputs, so that compiling copies none."""

    def __init__(self, importer, opsets, scope, depth):
        self._outer, self._inner = importer, importer.beside("constants")
        self._opsets, self._scope, self._depth = opsets, scope, depth
        self._tensors, self._inputs = {}, []
        self._sources = {}  # the outer tensor of an inner one that stands for it, by id

    def add(self, node):
        """Appends a node; False where it cannot be precomputed, and other nodes then do without it."""
        operands = {name: self._operand(name) for name in node.input if name}
        if None in operands.values():
            return False
        results = dict(operands)
        try:
            self._inner.run_node(node, self._opsets, results, self._depth)
        except ModelError:  # what is wrong, or depends on data, is found again where the node is imported
            return False
        results = {name: results[name] for name in node.output if name in results}
        most = max(sum(math.prod(operand.shape) for operand in operands.values()), MAX_ENTRIES)
        if not all(isinstance(dim, int) for result in results.values() for dim in result.shape) or \
                any(math.prod(result.shape) > most for result in results.values()):
            return False
        if node.op_type in _RESHAPES and not node.domain and operands[node.input[0]].array is not None:
            results = {name: self._reshaped(operands[node.input[0]], result) for name, result in results.items()}
        self._tensors.update(results)
        return True

    def finish(self, names):
        """Runs the graph for those of its results that have these names; False where it cannot be compiled or run."""
        found = {name: self._tensors[name] for name in names if name in self._tensors and name not in self._scope}
        computed = {name: tensor for name, tensor in found.items() if tensor.array is None}
        arrays = {name: tensor.array for name, tensor in found.items()}
        if computed:
            try:
                for name, tensor in computed.items():
                    self._inner.graph.output(name, tensor.value)
                arrays.update(zip(computed, self._inner.graph.compile(_TARGET).run(*self._inputs)))
            except _errors.Error:  # the model's own graph then has these nodes, and fails with their names
                return False
        for name, tensor in found.items():
            if id(tensor) in self._sources:
                self._scope[name] = self._sources[id(tensor)]
                continue
            self._scope[name] = self._constant(self._outer, arrays[name], tensor.narrow)
            self._scope[name].name = name if name in computed else ""
        return True

    def _operand(self, name):
        """A tensor of the graph, or None for a result that was not added."""
        if name not in self._tensors and name in self._scope:
            tensor = self._scope[name]
            value = self._input(tensor) if tensor.array.size > MAX_ENTRIES else None
            self._tensors[name] = self._constant(self._inner, tensor.array, tensor.narrow, value)
            self._sources[id(self._tensors[name])] = tensor
        return self._tensors.get(name)

    def _input(self, tensor):
        self._inputs.append(numpy.require(tensor.array, requirements=["C", "A"]))
        return self._inner.graph.input(f"x{len(self._inputs)}", tensor.dtype, tensor.shape)

    def _reshaped(self, operand, result):
        return self._constant(self._inner, operand.array.reshape(result.shape), result.narrow, result.value)

    @staticmethod
    def _constant(importer, array, narrow, value=None):
        tensor = Tensor(importer.extents, importer.graph, array=array, value=value)
        tensor.narrow = narrow
        return tensor
