"""A loaded program: its C handle, its signature, and arrays as arguments of its runs."""
from __future__ import annotations

import ctypes
import struct
from collections.abc import Callable, Mapping, Sequence
from ctypes import byref, sizeof
from typing import TYPE_CHECKING, Any, Optional

import numpy

from . import _convert, _device, _dlpack, _handles, _library
from ._callbacks import Failures
from ._integers import checked
from ._library import check, text
from .errors import Error
from .specs import TensorSpec

if TYPE_CHECKING:
    from ._memory import OutputMemory
    from .runtime import Runtime


class Program:
    """What an Executable and its sessions share. Immutable; lives until the last of them is closed or gone."""

    def __init__(self, handle: _handles.Handle, runtime: Optional[Runtime], device: str) -> None:
        self.library = functions(runtime)
        self.handle, self.runtime = handle.own(_library.runtime().tailor_executable_release, runtime), runtime
        self.failures = Failures() if runtime is None else runtime._callbacks.failures
        self.ordinal = _convert.device(device)[1]
        self.inputs: list[TensorSpec] = []
        self.outputs: list[TensorSpec] = []
        self.input_codes: list[int] = []
        self.output_codes: list[int] = []
        self._read(self.library.tailor_executable_input, self.library.tailor_executable_input_count, self.inputs,
                   self.input_codes)
        self._read(self.library.tailor_executable_output, self.library.tailor_executable_output_count, self.outputs,
                   self.output_codes)
        self.index = {spec.name: i for i, spec in enumerate(self.inputs)}
        self._donates = any(spec.donated for spec in self.inputs)
        self._last_plan: Optional[_Plan] = None

    def __repr__(self) -> str:
        """The signature, as a part of other representations."""
        return f"inputs=[{', '.join(map(str, self.inputs))}], outputs=[{', '.join(map(str, self.outputs))}]"

    def _read(self, read: Callable[..., Any], count: Callable[..., int], specs: list[TensorSpec],
              codes: list[int]) -> None:
        for i in range(count(self.handle)):
            info = _library.TensorInfo(sizeof(_library.TensorInfo), memory_of=-1)
            check(read(self.handle, i, byref(info)))
            dims = tuple(map(text, info.dim_texts[:info.rank]))
            memory_of = None if info.memory_of < 0 else self.inputs[info.memory_of].name
            specs.append(TensorSpec(text(info.name), _convert.dtype_name(info.dtype), dims, bool(info.donated),
                                    memory_of))
            codes.append(info.dtype)

    def arguments(self, inputs: tuple[Any, ...], named: Mapping[str, Any], stream: Optional[int] = None,
                  copy_strided: bool = False) -> tuple[list[Any], Any]:
        """The arrays in signature order (to keep them alive) and their C descriptions. `stream` is to wait for them.

        copy_strided: arrays that the library cannot copy (unaligned, or strides between elements) are copied here."""
        arrays = [array if type(array) is numpy.ndarray else self._input_array(array, i, stream)
                  for i, array in enumerate(self._ordered(inputs, named))]
        for i, (array, spec) in enumerate(zip(arrays, self.inputs) if self._donates or copy_strided else ()):
            if spec.donated and not isinstance(array, Shape) and not is_writeable(array):
                raise ValueError(f"input {spec.name!r} is donated, but read-only")
            if copy_strided and not spec.donated and isinstance(array, numpy.ndarray) and not _has_places(array):
                arrays[i] = numpy.array(array, order="C")
        return arrays, self._tensors(arrays, self.inputs, self.input_codes, "input")

    def _ordered(self, inputs: tuple[Any, ...], named: Mapping[str, Any]) -> Sequence[Any]:
        """The inputs in signature order."""
        if not named and len(inputs) == len(self.inputs) != 1:
            return inputs
        first = inputs[0] if len(inputs) == 1 else None
        if type(first) is dict and not named and first.keys() == self.index.keys():
            return [first[name] for name in self.index]
        if not isinstance(first, numpy.ndarray) and isinstance(first, Mapping):
            both = first.keys() & named.keys()
            if both:
                raise TypeError(f"{min(both)!r} is given twice, {self._expected()}")
            inputs, named = (), {**first, **named}
        if not named and len(inputs) == len(self.inputs):
            return inputs
        if len(inputs) > len(self.inputs):
            raise TypeError(f"{len(inputs)} inputs are given, {self._expected()}")
        ordered = list(inputs) + [_MISSING] * (len(self.inputs) - len(inputs))
        for name, array in named.items():
            if name not in self.index:
                raise TypeError(f"{name!r} is no input, {self._expected()}")
            if ordered[self.index[name]] is not _MISSING:
                raise TypeError(f"{name!r} is given twice, {self._expected()}")
            ordered[self.index[name]] = array
        missing = [spec.name for spec, array in zip(self.inputs, ordered) if array is _MISSING]
        if missing:
            raise TypeError(f"{', '.join(map(repr, missing))} {'is' if len(missing) == 1 else 'are'} missing, "
                            f"{self._expected()}")
        return ordered

    def _expected(self) -> str:
        return f"the inputs are ({', '.join(map(str, self.inputs))})"

    def destinations(self, arrays: Sequence[Any], stream: Optional[int] = None) -> tuple[list[Any], Any]:
        """The caller's arrays for outputs, and their C descriptions."""
        if isinstance(arrays, (numpy.ndarray, str)) or not isinstance(arrays, Sequence):
            raise TypeError(f"out is a {type(arrays).__name__}: a list of {len(self.outputs)} arrays is expected")
        written = [array if isinstance(array, numpy.ndarray) else self._foreign(array, stream) or _no_array(array)
                   for array in arrays]
        for array in written:
            if not is_writeable(array):
                raise ValueError("an output array is read-only")
        return written, self.described_outputs(written)

    def described_outputs(self, arrays: Sequence[Any]) -> Any:
        """The C descriptions of arrays for outputs; None: the library provides the memory."""
        return self._tensors(arrays, self.outputs, self.output_codes, "output")

    def planned(self, tensors: Any, info: Any = None) -> Any:
        """The C descriptions of the outputs of a run, without their memory."""
        outputs = (_library.Tensor * len(self.outputs))()
        for tensor in outputs:
            tensor.struct_size = sizeof(_library.Tensor)
        check(self.library.tailor_executable_plan(self.handle, tensors, len(tensors), outputs, len(outputs),
                                                  info and byref(info)))
        return outputs

    def new_outputs(self, inputs: Sequence[Any], tensors: Any, memory: Optional[OutputMemory] = None) -> list[Any]:
        """An array for each output: the donated input whose memory it is written to, or one in `memory` (None: a new
        one); None if a dim is data-dependent."""
        out = []
        for i, (shape, dtype) in enumerate(self._output_types(inputs, tensors)):
            memory_of = self.outputs[i].memory_of
            if memory_of is not None:
                out.append(inputs[self.index[memory_of]])
            elif -1 in shape:
                out.append(None)
            else:
                out.append(numpy.empty(shape, dtype) if memory is None else memory.empty(i, shape, dtype))
        return out

    def _output_types(self, inputs: Sequence[Any], tensors: Any) -> list[tuple[list[int], numpy.dtype[Any]]]:
        """Shape, -1 for data-dependent dims, and type of each output. Those of the last run's shapes are kept."""
        shapes = [array.shape if type(array) is numpy.ndarray else None for array in inputs]
        plan = self._last_plan
        if plan is None or plan.shapes != shapes or None in shapes:
            types = [(tensor.dims[:tensor.rank], _convert.numpy_dtype(tensor.dtype)) for tensor in self.planned(tensors)]
            self._last_plan = plan = _Plan(shapes, types)
        return plan.types

    def _input_array(self, array: Any, index: int, stream: Optional[int]) -> Any:
        if isinstance(array, (numpy.ndarray, Shape)):
            if isinstance(array, numpy.ma.MaskedArray):
                raise TypeError(f"input {self.inputs[index].name!r} is a masked array, whose mask runs would not see: "
                                "use .filled(value)")
            return array
        return self._foreign(array, stream) or _convert.converted(array, self.input_codes[index],
                                                                  f"input {self.inputs[index].name!r}")

    def _foreign(self, array: Any, stream: Optional[int]) -> Any:
        """An array of another library as an argument, or None. DLPack orders an array on a GPU before `stream`."""
        if isinstance(array, _device.DeviceArray):
            return array
        ordered = None if stream is None else _dlpack.borrowed(self, array, stream)
        return ordered or _device.DeviceArray.of(array) or _dlpack.borrowed(self, array)

    def _tensors(self, arrays: Sequence[Any], specs: Sequence[TensorSpec], codes: Sequence[int], role: str) -> Any:
        tensors = (_library.Tensor * len(arrays))()
        for i, array in enumerate(arrays):
            if array is None:  # the library provides the memory
                tensors[i].struct_size = sizeof(_library.Tensor)
            elif i < len(specs):
                try:
                    code = _describe(tensors, i, array, codes[i])
                except struct.error:
                    raise _bad_shape(array, specs[i].name) from None
                except (TypeError, ValueError) as error:
                    raise type(error)(f"{role} {specs[i].name!r}: {error}") from None
                if code != codes[i]:
                    what = f'{role} "{specs[i].name}"'
                    raise Error("INVALID_ARGUMENT", _convert.other_type(what, code, codes[i]))
        return tensors


class _Plan:
    """What inputs of these shapes give. Immutable."""

    def __init__(self, shapes: list[Any], types: list[tuple[list[int], numpy.dtype[Any]]]) -> None:
        self.shapes, self.types = shapes, types


def functions(runtime: Optional[Runtime]) -> _handles.Library:
    """The C functions for executables of a runtime."""
    return _library.runtime() if runtime is None else runtime._library


class Shape(tuple):  # type: ignore[type-arg]
    """A shape in place of an array whose data is not read."""


def shapes(inputs: tuple[Any, ...], named: Mapping[str, Any]) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """The inputs of a plan by position and by name: tuples and lists are shapes."""
    first = inputs[0] if len(inputs) == 1 else None
    if isinstance(first, Mapping):
        inputs, named = (), {**first, **named}
    return tuple(map(_shaped, inputs)), {name: _shaped(array) for name, array in named.items()}


def _shaped(array: Any) -> Any:
    return Shape(array) if isinstance(array, (tuple, list)) else array


def given(array: Any) -> Any:
    """What the caller knows an argument by."""
    return array.array if isinstance(array, _dlpack.Borrowed) else array


def is_writeable(array: Any) -> bool:
    """Whether runs may write to an argument."""
    return bool(array.flags.writeable if isinstance(array, numpy.ndarray) else array.writeable)


_MISSING = object()

# The fields of _library.Tensor at once: setting them one by one takes longer than many a run.
_PACKED = struct.Struct(f"=QQQii{_library.MAX_RANK}qQq")
_ZEROS = (0,) * _library.MAX_RANK
assert _PACKED.size == sizeof(_library.Tensor)


def _has_places(array: numpy.ndarray[Any, Any]) -> bool:
    """Whether each element lies where one of a dense array could."""
    return bool(array.flags.aligned) and not any(stride % array.itemsize for stride in array.strides)


def _reach(array: numpy.ndarray[Any, Any]) -> int:
    """Bytes from an array's lowest to the end of its highest element."""
    reach: int = sum(abs(stride) * (extent - 1) for extent, stride in zip(array.shape, array.strides))
    return reach + array.itemsize


def _bad_shape(array: Any, name: str) -> Exception:
    """What is wrong with a shape that a C tensor does not hold."""
    for i, extent in enumerate(array if isinstance(array, Shape) else array.shape):
        checked(extent, f"input {name!r} dim {i}")
    return ValueError(f"input {name!r} has an address or size beyond 64 bits")


def _no_array(output: object) -> Any:
    raise TypeError(f"an output is a {type(output).__name__}, not an array to write to")


def _describe(tensors: Any, index: int, array: Any, code: int) -> int:
    """Fills one C tensor from an array or a shape, and returns its element type; `code` is the one that the signature
    has."""
    shape, data, size, device, contiguous = array, 0, 0, _device.HOST_MEMORY, True
    if isinstance(array, numpy.ndarray):
        code, shape, contiguous = _convert.array_code(array, code), array.shape, array.flags.c_contiguous
        data, size = array.__array_interface__["data"][0], array.nbytes if contiguous else _reach(array)
    elif isinstance(array, _dlpack.Borrowed):
        tensors[index] = array.tensor
        return int(array.tensor.dtype)
    elif isinstance(array, _device.DeviceArray):
        code, shape, contiguous = _convert.array_code(array, code), array.shape, array.contiguous
        data, size, device = array.address, array.nbytes, _device.DEVICE_MEMORY
    rank = len(shape)
    if rank > _library.MAX_RANK:
        raise ValueError(f"rank {rank} is more than {_library.MAX_RANK}")
    _PACKED.pack_into(tensors, index * _PACKED.size, _PACKED.size, data, size, code, rank, *shape, *_ZEROS[rank:], 0,
                      device)
    if not contiguous:
        if any(stride % array.itemsize for stride in array.strides):
            raise ValueError("strides are no multiples of the element size")
        tensors[index].strides = (ctypes.c_int64 * rank)(*(stride // array.itemsize for stride in array.strides))
    return code
