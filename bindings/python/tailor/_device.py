"""Arrays in a GPU's memory: anything with __cuda_array_interface__ (PyTorch, CuPy, Numba)."""
import numpy

HOST_MEMORY, DEVICE_MEMORY = 0, 1  # tailor_tensor.device


class DeviceArray:
    """An array in a GPU's memory, with __cuda_array_interface__. One that a session gave is valid until its next run."""

    def __init__(self, address, shape, dtype, strides=None, writeable=True, owner=None):
        self.address, self.shape, self.dtype = address, tuple(shape), numpy.dtype(dtype)
        self.strides, self.writeable, self._owner = strides, writeable, owner

    @classmethod
    def of(cls, array):
        """`array` as a DeviceArray; None where it is not in a GPU's memory."""
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

    @property
    def __cuda_array_interface__(self):
        return {"shape": self.shape, "typestr": self.dtype.str, "data": (self.address, not self.writeable),
                "strides": self.strides, "version": 3}
