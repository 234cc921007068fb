"""Arrays in a GPU's memory: anything with __cuda_array_interface__ (PyTorch, CuPy, Numba)."""
from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from typing import Any, Optional

import numpy

HOST_MEMORY, DEVICE_MEMORY = 0, 1  # tailor_tensor.device
_CUDA = 2  # kDLCUDA
_LEGACY_STREAM = 1  # CU_STREAM_LEGACY, in DLPack's numbers too


class DeviceArray:
    """An array in a GPU's memory, with __cuda_array_interface__. An output of a session is valid until its next run.

    give: for an output, (stream, versioned) -> capsule takes its memory out of the session. Then it has __dlpack__."""

    def __init__(self, address: int, shape: Iterable[int], dtype: Any, strides: Optional[tuple[int, ...]] = None,
                 writeable: bool = True, owner: object = None, ordinal: int = 0,
                 give: Optional[Callable[[Optional[int], bool], Any]] = None) -> None:
        self.address, self.shape, self.dtype = address, tuple(shape), numpy.dtype(dtype)
        self.strides, self.writeable, self._owner = strides, writeable, owner
        self._ordinal, self._give = ordinal, give

    @classmethod
    def of(cls, array: Any) -> Optional[DeviceArray]:
        """`array` as a DeviceArray; None if it is not in a GPU's memory."""
        if isinstance(array, cls):
            return array
        interface = getattr(array, "__cuda_array_interface__", None)
        if interface is None:
            return None
        address, read_only = interface["data"]
        return cls(address, interface["shape"], interface["typestr"], interface.get("strides"), not read_only, array)

    def __repr__(self) -> str:
        return f"<tailor.DeviceArray {self.dtype}{list(self.shape)} at {self.address:#x} of cuda:{self._ordinal}>"

    @property
    def nbytes(self) -> int:
        """The bytes of the elements."""
        return math.prod(self.shape) * int(self.dtype.itemsize)

    @property
    def contiguous(self) -> bool:
        """Whether the elements are dense, in row-major order."""
        if self.strides is None:
            return True
        dense = self.dtype.itemsize
        for extent, stride in zip(reversed(self.shape), reversed(self.strides)):
            if extent != 1 and stride != dense:
                return False
            dense *= extent
        return True

    def __dlpack_device__(self) -> tuple[int, int]:
        """The kind and number of the device, as DLPack has them."""
        return _CUDA, self._ordinal

    def __dlpack__(self, *, stream: Optional[int] = None, max_version: Optional[tuple[int, int]] = None,
                   dl_device: Optional[tuple[int, int]] = None, copy: Optional[bool] = None) -> Any:
        """Transfers the memory to the consumer, which frees it. `stream` waits for the run (None: the legacy default
        stream; -1: no stream waits)."""
        if self._give is None:
            raise BufferError("only arrays that a session has provided are given away, and once")
        if copy or (dl_device is not None and tuple(dl_device) != self.__dlpack_device__()):
            raise BufferError("the array is given as it is, where it is")
        give, self._give = self._give, None
        waits = _LEGACY_STREAM if stream is None else None if stream == -1 else stream
        return give(waits, max_version is not None and max_version[0] >= 1)

    @property
    def __cuda_array_interface__(self) -> dict[str, Any]:
        """The array as CuPy, Numba and PyTorch read it."""
        return {"shape": self.shape, "typestr": self.dtype.str, "data": (self.address, not self.writeable),
                "strides": self.strides, "version": 3}
