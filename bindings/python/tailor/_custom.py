"""Custom operators: Python functions that compiled programs call."""
from __future__ import annotations

import ctypes
import gc
import weakref
from collections.abc import Callable
from typing import Any, Optional

import numpy

from . import _convert, _device, _interrupts, _library
from ._integers import checked

_INTERNAL = 13


class CustomCall:
    """One call of a custom operator, for the length of the call: a function that keeps its arrays, or views of them, fails
    the run.

    operands, results: numpy arrays over the program's own memory, or on a GPU objects with __cuda_array_interface__.
        Operands are read-only. After the results comes one i64 array of rank 0 per counted result, for its count.
    name, node, attributes: texts, as Graph.custom had them.
    workspace: a u8 array.
    stream: on a GPU, the address of the CUstream in which to enqueue all work, else None."""

    name: str
    node: str
    attributes: str
    stream: Optional[int]
    operands: list[Any]
    results: list[Any]
    workspace: Any

    def __init__(self, call: Any) -> None:
        self._lent: list[weakref.ref[Any]] = []  # weak references to the memory behind the arrays
        self.name, self.node = _library.text(call.name), _library.text(call.node)
        self.attributes = ctypes.string_at(call.attributes, call.attributes_size).decode()
        self.stream = call.stream
        self.operands = [self._tensor(call.operands[i], False) for i in range(call.operand_count)]
        self.results = [self._tensor(call.results[i], True) for i in range(call.result_count)]
        self.workspace = self._memory(call.workspace, call.workspace_bytes, numpy.dtype(numpy.uint8),
                                      (call.workspace_bytes,), True)

    def _tensor(self, tensor: Any, writeable: bool) -> Any:
        dtype, shape = _convert.numpy_dtype(tensor.dtype), tuple(tensor.dims[:tensor.rank])
        size = int(numpy.prod(shape, dtype=numpy.int64)) * dtype.itemsize
        return self._memory(tensor.data, size, dtype, shape, writeable)

    def _memory(self, address: Optional[int], size: int, dtype: numpy.dtype[Any], shape: tuple[int, ...],
                writeable: bool) -> Any:
        if self.stream:
            return _device.DeviceArray(address or 0, shape, dtype, writeable=writeable)
        if size == 0:
            return numpy.zeros(shape, dtype)
        if not address:  # in calls of the workspace function: zeros that share one element
            return numpy.broadcast_to(numpy.zeros((), dtype), shape)
        memory: Any = (ctypes.c_char * size).from_address(address)
        self._lent.append(weakref.ref(memory))
        array = numpy.frombuffer(memory, dtype).reshape(shape)
        array.flags.writeable = writeable
        return array

    def __repr__(self) -> str:
        return f"<tailor.CustomCall {self.name} of node {self.node!r}>"

    def _end(self) -> None:
        """Ends the call. Raises RuntimeError if an array over the program's memory is still referred to."""
        self.operands, self.results, self.workspace = [], [], None
        if any(lent() is not None for lent in self._lent):
            gc.collect()  # arrays in reference cycles
        if any(lent() is not None for lent in self._lent):
            raise RuntimeError("the function keeps an array of the call: copy what it needs later")


class Operator:
    """The C struct of a custom operator, and what it points to."""

    def __init__(self, name: str, function: Callable[[CustomCall], None],
                 workspace: Optional[Callable[[CustomCall], int]], device: int) -> None:
        for what, given in (("function", function), ("workspace", workspace)):
            if not callable(given) and (given is not None or what == "function"):
                raise TypeError(f"{what} is {given!r}, which cannot be called")
        self.name, self._name = name, _convert.utf8(name)
        self.c = _library.CustomOperator(ctypes.sizeof(_library.CustomOperator), *self._name, device)
        self.c.function = _library.CustomFn(lambda user, call: _guarded(call, lambda: _run(function, call.contents)))
        if workspace is not None:
            self.c.workspace = _library.WorkspaceFn(
                lambda user, call, out: _guarded(call, lambda: _size(workspace, call.contents, out)))
        self._kept = self.c.function, self.c.workspace


def _guarded(call: Any, body: Callable[[], None]) -> int:
    """Runs `body`; an exception becomes the call's message."""
    try:
        if _interrupts.pending():
            raise KeyboardInterrupt
        body()
        return 0
    except BaseException as error:  # nothing may unwind into the program
        text = _text(error, call.contents.message_capacity - 1)
        ctypes.memmove(call.contents.message, text + b"\0", len(text) + 1)
        return _INTERNAL


def _text(error: BaseException, capacity: int) -> bytes:
    """The name and message of an exception in UTF-8, cut between characters."""
    try:
        text = f"{type(error).__name__}: {error}"
    except Exception:  # of its __str__
        text = type(error).__name__
    return text.encode(errors="backslashreplace")[:capacity].decode(errors="ignore").encode()


def _run(function: Callable[[CustomCall], Any], c_call: Any) -> None:
    call = CustomCall(c_call)
    returned = function(call)
    if returned is not None:
        raise TypeError(f"the function returned {type(returned).__name__}; it writes to call.results and returns None")
    call._end()


def _size(workspace: Callable[[CustomCall], int], c_call: Any, out: Any) -> None:
    out[0] = checked(workspace(CustomCall(c_call)), "the workspace", ctypes.c_uint64)
