"""A tensor while importing: a constant, a small list of extents and values, or a value of the graph."""
import numpy

from .. import _convert
from ..dims import GraphDim
from ..graph import Value
from .dtypes import SIGNED, UNSIGNED

# Integer constants up to this size take part in arithmetic on extents.
MAX_ENTRIES = 1024
# Integers up to this many that only data gives may be the extents of a shape.
MAX_PARTS = 16


class Tensor:
    """Exactly one of `array` (constant), `entries` (of `shape`, rank 0 to 2; None: a list) and a value is the source.

    Entries are ints, bools, dims, and values of rank 0 where only data gives an element. Nodes share a tensor: its
    lists are tuples, and its array is a view that cannot be written.
    The value of a constant or of entries is appended to the graph when it is first asked for."""

    def __init__(self, extents, graph, *, array=None, entries=None, shape=None, value=None, dtype=None):
        self._extents, self._graph, self._value = extents, graph, value
        entries = None if entries is None else tuple(entries)
        self.array = _read_only(array)
        self._entries = None if any(isinstance(entry, Value) for entry in entries or ()) else entries
        self.dtype = dtype or (value.dtype if value is not None else _convert.dtype_name(_convert.array_code(array)))
        self._parts, self._listed = entries, entries is not None
        self._shape = (len(entries),) if entries is not None and shape is None else shape
        self.name = ""  # for constants
        self.narrow = None  # the ONNX type whose elements travel in `dtype`, where Tailor has it not
        self.sources = frozenset()  # the model's inputs whose elements this depends on

    @property
    def shape(self):
        """Ints and dims."""
        if self._shape is None:
            if self.array is not None:
                self._shape = self.array.shape
            else:
                self._shape = tuple(map(self._extents.fold, self._value.shape))
        return self._shape

    @property
    def rank(self):
        return len(self.shape)

    @property
    def value(self):
        """The tensor as a value of the graph."""
        if self._value is None:
            self._value = self._graph.constant(self.array, self.name) if self.array is not None else self._list()
        return self._value

    @property
    def entries(self):
        """The elements as ints, bools and dims in row-major order, or None where they are not all known."""
        if self._entries is None and self._is_small():
            self._entries = tuple(self.array.reshape(-1).tolist())
        return self._entries

    @property
    def parts(self):
        """The elements with values of rank 0 for those that data gives; None where they are many, or no integers."""
        if self.entries is not None:
            return self.entries
        if self._parts is None and self._is_short():
            graph, count = self._graph, self.shape[0] if self.rank else 1
            cut = [self.value] if count == 1 else [graph.slice(self.value, [i], [1]) for i in range(count)]
            self._parts = tuple(part if self.rank == 0 else graph.reshape(part, []) for part in cut)
        return self._parts

    @property
    def listed(self):
        """Whether it was made as a list of entries."""
        return self._listed

    @property
    def appended(self):
        """Whether the graph has it already."""
        return self._value is not None

    @property
    def computed(self):
        """Whether running the graph computes it."""
        return self.array is None and self._entries is None

    @property
    def symbolic(self):
        """Whether some entry is a dim."""
        return self.array is None and self._entries is not None

    def item(self):
        """The one element of a constant, else None."""
        return self.array.reshape(-1)[0].item() if self.array is not None and self.array.size == 1 else None

    def _is_small(self):
        return (self.array is not None and self.array.dtype.kind in "iub" and self.array.ndim <= 1
                and self.array.size <= MAX_ENTRIES)

    def _is_short(self):
        return (self.dtype in (*SIGNED, *UNSIGNED) and self.rank <= 1
                and all(isinstance(dim, int) and dim <= MAX_PARTS for dim in self.shape))

    def _list(self):
        if self.rank == 0:
            return self._entry(self._parts[0])
        parts = [self._graph.reshape(self._entry(entry), [1]) for entry in self._parts]
        joined = parts[0] if len(parts) == 1 else self._graph.concat(parts, 0)
        return joined if self.rank == 1 else self._graph.reshape(joined, self.shape)

    def _entry(self, entry):
        if isinstance(entry, (GraphDim, Value)):
            value = self._extents.as_value(entry) if isinstance(entry, GraphDim) else entry
            return value if value.dtype == self.dtype else self._graph.cast(value, self.dtype)
        return self._graph.constant(numpy.asarray([entry], _convert.numpy_dtype(_convert.dtype_code(self.dtype))))


def _read_only(array):
    """A view of the same memory that cannot be written; whoever gave the array still can."""
    if array is None:
        return None
    view = numpy.asarray(array).view()
    view.flags.writeable = False
    return view
