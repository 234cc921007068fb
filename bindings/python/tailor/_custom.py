"""Custom operators: Python functions that compiled programs call."""
import ctypes

import numpy

from . import _convert, _device, _library
from ._integers import checked

_INTERNAL = 13


class CustomCall:
    """One call of a custom operator; valid during the call only.

    operands, results: numpy arrays over the program's own memory, or on a GPU objects with __cuda_array_interface__.
        Operands are read-only. After the results comes one i64 array of rank 0 per counted result, for its count.
    name, node, attributes: texts, as Graph.custom had them.
    workspace: a u8 array.
    stream: on a GPU, the address of the CUstream in which to enqueue all work, else None."""

    def __init__(self, call):
        of = _on_device if call.stream else _array
        self.name, self.node = _library.text(call.name), _library.text(call.node)
        self.attributes = ctypes.string_at(call.attributes, call.attributes_size).decode()
        self.operands = [of(call.operands[i], False) for i in range(call.operand_count)]
        self.results = [of(call.results[i], True) for i in range(call.result_count)]
        self.stream = call.stream
        self.workspace = _memory(call.workspace, call.workspace_bytes, numpy.uint8, (call.workspace_bytes,), True,
                                 bool(call.stream))


class Operator:
    """The C struct of a custom operator, and what it points to."""

    def __init__(self, name, function, workspace, device):
        for what, given in (("function", function), ("workspace", workspace)):
            if not callable(given) and (given is not None or what == "function"):
                raise TypeError(f"{what} is {given!r}, which cannot be called")
        self._name = _convert.utf8(name)
        self.c = _library.CustomOperator(ctypes.sizeof(_library.CustomOperator), *self._name, device)
        self.c.function = _library.CustomFn(lambda user, call: _guarded(call, lambda: _run(function, call.contents)))
        if workspace is not None:
            self.c.workspace = _library.WorkspaceFn(
                lambda user, call, out: _guarded(call, lambda: _size(workspace, call.contents, out)))
        self._kept = self.c.function, self.c.workspace


def _guarded(call, body):
    """Runs `body`; an exception becomes the call's message."""
    try:
        body()
        return 0
    except BaseException as error:  # nothing may unwind into the program
        text = f"{type(error).__name__}: {error}".encode()[:call.contents.message_capacity - 1]
        ctypes.memmove(call.contents.message, text + b"\0", len(text) + 1)
        return _INTERNAL


def _run(function, call):
    returned = function(CustomCall(call))
    if returned is not None:
        raise TypeError(f"the function returned {type(returned).__name__}; it writes to call.results and returns None")


def _size(workspace, call, out):
    out[0] = checked(workspace(CustomCall(call)), "the workspace", ctypes.c_uint64)


def _dims(tensor):
    return tuple(tensor.dims[:tensor.rank])


def _array(tensor, writeable):
    dtype, shape = _convert.numpy_dtype(tensor.dtype), _dims(tensor)
    return _memory(tensor.data, int(numpy.prod(shape, dtype=numpy.int64)) * dtype.itemsize, dtype, shape, writeable, False)


def _on_device(tensor, writeable):
    return _device.DeviceArray(tensor.data or 0, _dims(tensor), _convert.numpy_dtype(tensor.dtype), writeable=writeable)


def _memory(address, size, dtype, shape, writeable, on_device):
    if on_device:
        return _device.DeviceArray(address or 0, shape, dtype)
    if size == 0:
        return numpy.zeros(shape, dtype)
    if not address:  # in calls of the workspace function: zeros that share one element
        return numpy.broadcast_to(numpy.zeros((), dtype), shape)
    array = numpy.frombuffer((ctypes.c_char * size).from_address(address), dtype).reshape(shape)
    array.flags.writeable = writeable
    return array
