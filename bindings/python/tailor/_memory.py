"""Memory of large outputs, which later runs use again once no array refers to it. Page faults of new memory take as long
as the run that fills a cache of keys and values."""
from __future__ import annotations

import math
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy

if TYPE_CHECKING:
    from ._types import Array

_LARGE = 1 << 20  # bytes
_ALIGNMENT = 64  # that of the library's own buffers
_GROWTH = 8  # an eighth more than is needed: a cache grows by some rows from run to run
_MOST = 2  # blocks per output: results of a run are often inputs of the next


def _references(blocks: list[Any], i: int) -> int:
    return sys.getrefcount(blocks[i])


def _unused() -> int:
    """What `_references` says of a block that no array refers to; -1 where an object may outlive its last reference."""
    if sys.implementation.name != "cpython" or not getattr(sys, "_is_gil_enabled", lambda: True)():
        return -1
    return _references([numpy.empty(1, numpy.uint8)], 0)


class OutputMemory:
    """The blocks of a session's outputs, by output. Not thread-safe."""

    def __init__(self) -> None:
        self._blocks: dict[int, list[Array]] = {}
        self._unused = _unused()

    def empty(self, output: int, shape: Sequence[int], dtype: numpy.dtype[Any]) -> Array:
        """A new array for output number `output`, in the memory of an earlier one that is gone, if that fits."""
        size = math.prod(shape) * dtype.itemsize
        if size < _LARGE or self._unused < 0:
            return numpy.empty(shape, dtype)
        blocks = self._blocks.setdefault(output, [])
        free = [i for i in range(len(blocks)) if _references(blocks, i) == self._unused]
        fitting = [i for i in free if size <= blocks[i].size - _ALIGNMENT <= 2 * size]
        if fitting:
            block = blocks[fitting[0]]
        else:
            kept = [block for i, block in enumerate(blocks) if i not in free]
            block = numpy.empty(size + size // _GROWTH + _ALIGNMENT, numpy.uint8)
            self._blocks[output] = [*kept[1 - _MOST:], block]
        first = -block.ctypes.data % _ALIGNMENT
        return block[first:first + size].view(dtype).reshape(shape)

    def clear(self) -> None:
        self._blocks.clear()
