"""Tensors from and to other libraries without copies, by the DLPack protocol."""
from __future__ import annotations

import ctypes
from ctypes import byref, c_char_p, c_int32, c_uint8, c_uint16, c_uint32, c_uint64, c_void_p, sizeof
from typing import TYPE_CHECKING, Any, Optional

import numpy

from . import _handles, _library
from ._integers import address

if TYPE_CHECKING:
    from ._program import Program
    from .session import Session

_CUDA = 2  # kDLCUDA
_READ_ONLY = 1
_PLAIN, _VERSIONED = b"dltensor", b"dltensor_versioned"


class _Tensor(ctypes.Structure):
    _fields_ = [("data", c_void_p), ("device_type", c_int32), ("device_id", c_int32), ("ndim", c_int32),
                ("code", c_uint8), ("bits", c_uint8), ("lanes", c_uint16), ("shape", c_void_p), ("strides", c_void_p),
                ("byte_offset", c_uint64)]


_Deleter = ctypes.CFUNCTYPE(None, c_void_p)


class _Managed(ctypes.Structure):
    _fields_ = [("tensor", _Tensor), ("manager", c_void_p), ("deleter", _Deleter)]


class _ManagedVersioned(ctypes.Structure):
    _fields_ = [("major", c_uint32), ("minor", c_uint32), ("manager", c_void_p), ("deleter", _Deleter),
                ("flags", c_uint64), ("tensor", _Tensor)]


def _python(name: str, result: Any, *arguments: Any) -> Any:
    function = ctypes.PYFUNCTYPE(result, *arguments)
    return function((name, ctypes.pythonapi))


_is_valid = _python("PyCapsule_IsValid", ctypes.c_int, ctypes.py_object, c_char_p)
_pointer = _python("PyCapsule_GetPointer", c_void_p, ctypes.py_object, c_char_p)
_is_valid_object = _python("PyCapsule_IsValid", ctypes.c_int, c_void_p, c_char_p)
_pointer_of_object = _python("PyCapsule_GetPointer", c_void_p, c_void_p, c_char_p)
_new = _python("PyCapsule_New", ctypes.py_object, c_void_p, c_char_p, c_void_p)


class Borrowed:
    """A tensor of another library as an argument; it is kept alive by this object."""

    def __init__(self, program: Program, array: Any, stream: Optional[int]) -> None:
        on_gpu = array.__dlpack_device__()[0] == _CUDA
        order = {"stream": stream} if on_gpu and stream is not None else {}
        try:
            self._capsule = array.__dlpack__(max_version=(1, 0), **order)
        except TypeError:  # from before DLPack 1.0
            self._capsule = array.__dlpack__(**order)
        library, self.tensor = program.library, _library.Tensor(sizeof(_library.Tensor))
        self.writeable = True
        if _is_valid(self._capsule, _VERSIONED):
            address = _pointer(self._capsule, _VERSIONED)
            self.writeable = not _ManagedVersioned.from_address(address).flags & _READ_ONLY
            _library.check(library.tailor_tensor_from_dlpack_versioned(program.handle, address, byref(self.tensor)))
        else:
            address = _pointer(self._capsule, _PLAIN)
            _library.check(library.tailor_tensor_from_dlpack(program.handle, address, byref(self.tensor)))
        self.array = array
        self.shape = tuple(self.tensor.dims[:self.tensor.rank])


def borrowed(program: Program, array: Any, stream: Optional[int] = None) -> Optional[Borrowed]:
    """`array` as an argument of a program; None if it has no __dlpack__ or is numpy's."""
    if not hasattr(array, "__dlpack__") or isinstance(array, (numpy.ndarray, numpy.generic)):
        return None
    return Borrowed(program, array, stream)


@_handles.immortal  # capsules may outlive the interpreter
@_Deleter  # type: ignore[untyped-decorator]
def _release(capsule: int) -> None:
    """The destructor of a capsule; frees a tensor that nobody has taken."""
    for name, managed in ((_VERSIONED, _ManagedVersioned), (_PLAIN, _Managed)):
        if _is_valid_object(capsule, name):
            address = _pointer_of_object(capsule, name)
            managed.from_address(address).deleter(address)


def capsule(session: Session, index: int, stream: Optional[int], versioned: bool) -> Any:
    """Output `index` of the session's last run, taken out of the session with its memory."""
    library, out, handle = session._library, c_void_p(), session._handle
    take = library.tailor_session_take_output_versioned if versioned else library.tailor_session_take_output
    session._check(take(handle, index, address(stream, "stream"), byref(out)))
    runtime = handle.keeps.program.runtime
    if runtime is not None:
        _handles.immortal(runtime)  # the tensor keeps the C executable, which may call what a Runtime keeps
    return _new(out, _VERSIONED if versioned else _PLAIN, ctypes.cast(_release, c_void_p))
