"""Arrays in a GPU's memory: anything with __cuda_array_interface__ (PyTorch, CuPy, Numba)."""
import numpy

HOST_MEMORY, DEVICE_MEMORY = 0, 1  # tailor_tensor.device
_CUDA = 2  # kDLCUDA
_LEGACY_STREAM = 1  # CU_STREAM_LEGACY, in DLPack's numbers too


class DeviceArray:
    """An array in a GPU's memory, with __cuda_array_interface__. An output of a session is valid until its next run.

    give: for an output, (stream, versioned) -> capsule takes its memory out of the session. Then it has __dlpack__."""

    def __init__(self, address, shape, dtype, strides=None, writeable=True, owner=None, ordinal=0, give=None):
        self.address, self.shape, self.dtype = address, tuple(shape), numpy.dtype(dtype)
        self.strides, self.writeable, self._owner = strides, writeable, owner
        self._ordinal, self._give = ordinal, give

    @classmethod
    def of(cls, array):
        """`array` as a DeviceArray; None if it is not in a GPU's memory."""
        if isinstance(array, cls):
            return array
        interface = getattr(array, "__cuda_array_interface__", None)
        if interface is None:
            return None
        address, read_only = interface["data"]
        return cls(address, interface["shape"], interface["typestr"], interface.get("strides"), not read_only, array)

    @property
    def nbytes(self):
        return int(numpy.prod(self.shape, dtype=numpy.int64)) * self.dtype.itemsize

    @property
    def contiguous(self):
        if self.strides is None:
            return True
        dense = self.dtype.itemsize
        for extent, stride in zip(reversed(self.shape), reversed(self.strides)):
            if extent != 1 and stride != dense:
                return False
            dense *= extent
        return True

    def __dlpack_device__(self):
        return _CUDA, self._ordinal

    def __dlpack__(self, *, stream=None, max_version=None, dl_device=None, copy=None):
        """Transfers the memory to the consumer, which frees it. `stream` waits for the run (None: the legacy default
        stream; -1: no stream waits)."""
        if self._give is None:
            raise BufferError("only arrays that a session has provided are given away, and once")
        if copy or (dl_device is not None and tuple(dl_device) != self.__dlpack_device__()):
            raise BufferError("the array is given as it is, where it is")
        give, self._give = self._give, None
        waits = {None: _LEGACY_STREAM, -1: None}.get(stream, stream)
        return give(waits, max_version is not None and max_version[0] >= 1)

    @property
    def __cuda_array_interface__(self):
        return {"shape": self.shape, "typestr": self.dtype.str, "data": (self.address, not self.writeable),
                "strides": self.strides, "version": 3}
