"""A tensor while importing: a constant, a small list of extents, or a value of the graph."""
import numpy

from .. import _convert
from ..dims import GraphDim

# Integer constants up to this size take part in arithmetic on extents.
MAX_ENTRIES = 1024


class Tensor:
    """Exactly one of `array` (constant), `entries` (ints, bools and dims; rank 0 or 1) and a value is the source.

    The value of a constant or of entries is appended to the graph when it is first asked for."""

    def __init__(self, extents, graph, *, array=None, entries=None, rank=1, value=None, dtype=None):
        self._extents, self._graph, self._value = extents, graph, value
        self.array, self._entries, self._rank = array, entries, rank
        self.dtype = dtype or (value.dtype if value is not None else _convert.dtype_name(_convert.array_code(array)))
        self._shape, self.name = None, ""  # the name is for constants
        self.narrow = None  # the ONNX type whose elements travel in `dtype`, where Tailor has it not
        self.sources = frozenset()  # the model's inputs whose elements this depends on

    @property
    def shape(self):
        """Ints and dims."""
        if self._shape is None:
            if self.array is not None:
                self._shape = self.array.shape
            elif self._entries is not None:
                self._shape = (len(self._entries),) if self._rank else ()
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
        """The elements as ints, bools and dims in row-major order, or None where they are not known."""
        if self._entries is None and self._is_small():
            self._entries = self.array.reshape(-1).tolist()
        return self._entries

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

    def _list(self):
        parts = [self._graph.reshape(self._entry(entry), [1]) for entry in self._entries]
        joined = parts[0] if len(parts) == 1 else self._graph.concat(parts, 0)
        return joined if self._rank else self._graph.reshape(joined, [])

    def _entry(self, entry):
        if isinstance(entry, GraphDim):
            value = self._extents.as_value(entry)
            return value if self.dtype == "i64" else self._graph.cast(value, self.dtype)
        return self._graph.constant(numpy.asarray([entry], _convert.numpy_dtype(_convert.dtype_code(self.dtype))))
