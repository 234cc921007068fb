"""What subgraphs that run see of the graph around them, and the graphs that are made of them."""
from .. import dims as _dims
from .._library import MAX_RANK
from . import functions
from .tensors import Tensor


class Closure:
    """The outer tensors that the subgraphs of one node read.

    Constants become constants of the regions. Computed values are operands, and so are empty tensors that have the
    extents which the regions know and no other operand is shaped by."""

    def __init__(self, node, subgraphs, given=None, states=()):
        """given: more tensors, by the name that the subgraphs know them by. states: tensors that change, of which the
        regions see the first extents only."""
        self.node, self.extents = node, node.extents
        names = {name for graph in subgraphs for name in functions.free_names(graph)}
        self.tensors = {name: node.scope[name] for name in sorted(names) if node.scope.get(name) is not None}
        self.tensors.update(given or {})
        self.sources = frozenset().union(*(tensor.sources for tensor in [*self.tensors.values(), *states]))
        dims = [dim for tensor in [*self.tensors.values(), *states] for dim in _dims_of(tensor)]
        for dim in dims:  # once for the names alone, which make more of the others' texts readable
            self.extents.leaves(dim)
        self.leaves = {text: leaf for dim in dims for text, leaf in self.extents.leaves(dim).items()}


class Region:
    """The graph of a subgraph while it is built."""

    def __init__(self, closure, name):
        self.closure, self.importer = closure, closure.node.importer.within(name)
        self.graph, self.extents = self.importer.graph, self.importer.extents
        self.inputs = {}  # name -> value, in the operands' order
        self.captured = []  # the outer values that capture() has made inputs for
        self._inner, self._outer = {}, {}
        for text in sorted(closure.leaves, key=self._is_new):  # new names last
            self._declare(text, closure.leaves[text])

    def _is_new(self, text):
        return text not in self.closure.node.graph._symbols and not text.isidentifier()

    def _declare(self, text, leaf):
        """A symbol for a leaf of the outer extents: the same name and range where it is a symbol there."""
        known = self.closure.node.graph._symbols.get(text)
        low, high = self.closure.extents.bounds(leaf)
        low, high = max(low, 0), min(high, 2**31 - 1)
        if self._is_new(text):
            inner = self.extents.fresh("n", low, high)
        else:
            inner = self.extents.symbol(known[0] if known else _dims.symbol(text, min=low, max=high))
        self._inner[text], self._outer[self.extents.text(inner)] = inner, leaf

    def dim(self, outer):
        """An outer extent as one of the region's."""
        return self.closure.extents.rewritten(outer, self.extents, self._inner.__getitem__)

    def outer(self, dim):
        """One of the region's extents outside, or None where it is known only inside."""
        if not all(text in self._outer for text in self.extents.leaves(dim)):
            return None
        return self.extents.rewritten(dim, self.closure.extents, self._outer.__getitem__)

    def input(self, name, dtype, shape):
        """An input of the region's graph; its name is made unique."""
        while name in self.inputs or not name:
            name += "_"
        self.inputs[name] = self.graph.input(name, dtype, shape)
        return self.inputs[name]

    def tensor(self, value, like=None):
        """A value of the region; its ONNX type is that of the tensor `like`."""
        tensor = Tensor(self.extents, self.graph, value=value)
        if like is not None:
            tensor.narrow, tensor.sources = like.narrow, like.sources
        return tensor

    def capture(self):
        """{name: tensor} of what the subgraph sees. The inputs that came before are those of states."""
        scope = {name: self._captured(name, tensor) for name, tensor in self.closure.tensors.items()}
        dims = [dim for value in self.inputs.values() for dim in map(self.extents.fold, value.shape)]
        shown = {self.extents.text(dim) for dim in dims}
        hidden = [text for text, inner in self._inner.items() if self.extents.text(inner) not in shown]
        step, graph = MAX_RANK - 1, self.closure.node.graph
        for some in (hidden[i:i + step] for i in range(0, len(hidden), step)):
            self.input("extents", "bool", [0, *(self._inner[text] for text in some)])
            outer = [0, *(self.closure.leaves[text] for text in some)]
            self.captured.append(graph.broadcast(graph.scalar(0, "bool"), outer))
        return scope

    def _captured(self, name, tensor):
        if tensor.computed:
            shape = [self.dim(dim) for dim in tensor.shape]
            self.captured.append(tensor.value)
            return self.tensor(self.input(name, tensor.dtype, shape), tensor)
        inner = Tensor(self.extents, self.graph, array=tensor.array) if tensor.array is not None else \
            Tensor(self.extents, self.graph, entries=[self._entry(entry) for entry in tensor.entries],
                   shape=tensor.shape, dtype=tensor.dtype)
        inner.name, inner.narrow, inner.sources = tensor.name, tensor.narrow, tensor.sources
        return inner

    def _entry(self, entry):
        return self.dim(entry) if isinstance(entry, _dims.Dim) else entry

    def row(self, tensor, index, axis=0):
        """What a captured tensor has at one index of an axis."""
        return self.tensor(self.graph.gather(tensor.value, index, axis=axis), tensor)

    def run(self, subgraph, scope):
        """The tensors that a subgraph returns, whose inputs are in `scope`."""
        node = self.closure.node
        for initializer in subgraph.initializer:
            scope[initializer.name] = self.importer.initializer(initializer)
        self.importer.run_nodes(subgraph, node.opsets, scope, node.depth + 1)
        missing = next((value.name for value in subgraph.output if value.name not in scope), None)
        if missing is not None:
            node.fail(f'no node of the subgraph computes its output "{missing}"')
        return [scope[value.name] for value in subgraph.output]

    def alike(self, name):
        """Another graph with these inputs, and their values."""
        other = self.closure.node.importer.within(name)
        graph, extents = other.graph, other.extents

        def leaf(text):
            known = self.graph._symbols.get(text)
            return extents.symbol(known[0] if known else _dims.symbol(text))

        def dim(inner):
            return self.extents.rewritten(inner, extents, leaf)

        return graph, [graph.input(name, value.dtype, [dim(self.extents.fold(inner)) for inner in value.shape])
                       for name, value in self.inputs.items()]


def _dims_of(tensor):
    """Every extent that a tensor has or consists of."""
    entries = tensor.entries if tensor.symbolic else ()
    return [dim for dim in [*tensor.shape, *entries] if isinstance(dim, _dims.Dim)]
