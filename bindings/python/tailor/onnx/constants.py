"""TensorProtos as arrays, without copies where the bytes allow it, and the guards on external data."""
import math
import mmap
import os
import stat

import numpy
import onnx
from onnx import TensorProto, numpy_helper

from .. import _convert
from . import dtypes, narrow
from .errors import ModelError, Unsupported

_KEYS = {"location", "offset", "length", "checksum", "basepath"}


class Constants:
    """The constants of one model; `directory` is where its external data may lie, None for nowhere."""

    def __init__(self, directory):
        self._directory = None if directory is None else os.path.realpath(directory)
        self._files = {}

    def array(self, proto):
        """The array of a TensorProto; raises ModelError where it lies about its size."""
        if narrow.is_narrow(proto.data_type):
            return self._narrow(proto)
        dtype = _convert.numpy_dtype(_convert.dtype_code(dtypes.from_onnx(proto.data_type)))
        shape = tuple(proto.dims)
        if any(dim < 0 for dim in shape):
            raise ModelError(f"a dim of {list(shape)} is negative")
        count = math.prod(shape)
        if proto.data_location == TensorProto.EXTERNAL:
            data = self._external(proto, count * dtype.itemsize)
        elif proto.HasField("raw_data"):
            data = proto.raw_data
            if len(data) != count * dtype.itemsize:
                raise ModelError(f"{list(shape)} needs {count * dtype.itemsize} bytes, but there are {len(data)}")
        else:
            return self._typed(proto, count)
        return numpy.frombuffer(data, dtype, count).reshape(shape)

    def _narrow(self, proto):
        """The array of a type that is packed, or that Tailor has not."""
        if proto.data_location == TensorProto.EXTERNAL:
            raise Unsupported("external data of types below 8 bits or of 8-bit floats is not supported")
        try:
            return narrow.stored(numpy_helper.to_array(proto), proto.data_type)
        except ValueError as error:
            raise ModelError(f"its data does not fit {list(proto.dims)}: {error}") from error

    def _typed(self, proto, count):
        """The array of a proto whose elements lie in a field of their type."""
        field = onnx.helper.tensor_dtype_to_field(proto.data_type)
        if len(getattr(proto, field)) != count:
            raise ModelError(f"{list(proto.dims)} needs {count} elements, but there are {len(getattr(proto, field))}")
        return numpy_helper.to_array(proto)

    def _external(self, proto, size):
        """The bytes of a tensor in a file beside the model."""
        entries = {entry.key: entry.value for entry in proto.external_data}
        unknown = sorted(set(entries) - _KEYS)
        if unknown:
            raise ModelError(f"external data has the unknown key {unknown[0]!r}")
        if len(entries) != len(proto.external_data) or not entries.get("location"):
            raise ModelError("external data needs one location and no key twice")
        offset = _size(entries, "offset", 0)
        length = _size(entries, "length", size)
        if length != size:
            raise ModelError(f"external data of {length} bytes for a tensor of {size}")
        memory = self._file(entries["location"])
        if offset + length > len(memory):
            raise ModelError(f'external data ends at byte {offset + length} of "{entries["location"]}", which has '
                             f"{len(memory)}")
        return memoryview(memory)[offset:offset + length]

    def _file(self, location):
        """A file below the model's directory, mapped; no link on the way and no way out."""
        if location in self._files:
            return self._files[location]
        if self._directory is None:
            raise ModelError(f'external data "{location}" of a model that was given without a path')
        parts = location.replace("\\", "/").split("/")
        if os.path.isabs(location) or ".." in parts or "\0" in location:
            raise ModelError(f'external data "{location}" leaves the model\'s folder')
        path = self._directory
        for part in parts:
            path = os.path.join(path, part)
            if os.path.islink(path):
                raise ModelError(f'external data "{location}" goes through a symbolic link')
        self._files[location] = _map(path, location)
        return self._files[location]


def _map(path, location):
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    except OSError as error:
        raise ModelError(f'external data "{location}": {error.strerror}') from error
    try:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode):
            raise ModelError(f'external data "{location}" is no plain file')
        return mmap.mmap(descriptor, 0, access=mmap.ACCESS_READ) if status.st_size else b""
    finally:
        os.close(descriptor)


def _size(entries, key, default):
    text = entries.get(key, str(default))
    if not text.isascii() or not text.isdigit():
        raise ModelError(f"external data's {key} is {text!r}")
    return int(text)
