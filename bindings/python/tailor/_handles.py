"""Handles of the C libraries: their release, and calls in progress when the interpreter ends.

A handle is released when nothing refers to it. ctypes refers to the arguments of a call until it returns, so no handle
is released while a thread is inside a call with it: an object that is closed only drops its reference. Once the
interpreter ends, nothing is released: daemon threads may stay inside calls until the process exits. Calls that call
back into Python are waited for first, because Python ends a thread that returns to it later, with C++ frames on its
stack."""
from __future__ import annotations

import atexit
import ctypes
import os
import threading
import weakref
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, ClassVar, NoReturn, TypeVar, Union

from . import _interrupts
from .errors import Error

_changed = threading.Condition()  # its lock is reentrant: the garbage collector may release handles anywhere
_inside = 0  # calls in progress that may call back
_ended = False

T = TypeVar("T")


class Handle(ctypes.c_void_p):
    """The output of a create function. After own(release) it is released when it is collected.

    keeps: what C uses until the release."""

    keeps: Any = None

    def own(self, release: Callable[[Any], Any], keeps: Any = None) -> Handle:
        """Releases the handle by `release` when nothing refers to it."""
        self.keeps = keeps
        weakref.finalize(self, _release, release, self.value or 0).atexit = False
        return self


class Closable:
    """An object with a handle, which close() gives up. A call that is under way on another thread ends as usual."""

    _noun: ClassVar[str]
    _owned: ClassVar[tuple[str, ...]] = ("_handle",)  # the attributes that close() deletes
    _handle: Handle
    _closed = False

    def close(self) -> None:
        """Releases the object; later calls of its methods raise Error. Calls in progress on other threads are not
        disturbed: the memory is freed when they have returned. Closing twice is allowed."""
        self._closed = True
        for name in self._owned:
            self.__dict__.pop(name, None)

    @property
    def closed(self) -> bool:
        """Whether close() was called."""
        return self._closed

    def __enter__(self: T) -> T:
        """The object itself, which the end of the with statement closes."""
        return self

    def __exit__(self, *_: object) -> None:
        """Closes the object."""
        self.close()

    def __copy__(self: T) -> T:
        """Another object for the same handle; each has to be closed."""
        twin = type(self).__new__(type(self))
        twin.__dict__.update(self.__dict__)
        return twin

    def __deepcopy__(self, memo: object) -> Any:
        """Refused: the state is in C."""
        raise TypeError(f"a {self._noun} cannot be copied deep")

    def __reduce__(self) -> Any:
        """Refused: the state is in C."""
        raise TypeError(f"a {self._noun} cannot be pickled")

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> NoReturn:
            """Only called for attributes that are missing."""
            if name in self._owned and self._closed:
                raise Error("FAILED_PRECONDITION", f"the {self._noun} is closed")
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")


class Awaited:
    """The functions of `library` for calls that may call back into Python. The end of the interpreter waits for them;
    later calls on other threads than the main one raise RuntimeError."""

    def __init__(self, library: ctypes.CDLL) -> None:
        self._library = library

    def __getattr__(self, name: str) -> Callable[..., Any]:
        if name.startswith("_"):
            raise AttributeError(name)
        function = getattr(self._library, name)

        def call(*arguments: Any) -> Any:
            if not _enter():
                raise RuntimeError(f"{name} is called while the interpreter ends")
            try:
                with _interrupts.deferred():
                    return function(*arguments)
            finally:
                _leave()

        setattr(self, name, call)
        return call


Library = Union[ctypes.CDLL, Awaited]


def ended() -> bool:
    """Whether the interpreter is ending: calls in progress should be cancelled."""
    return _ended


def immortal(thing: T) -> T:
    """Keeps `thing` alive for the life of the process: C code may use it while modules are torn down."""
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(thing))
    return thing


_to_outlive: weakref.WeakSet[Any] = weakref.WeakSet()


def outlives_the_interpreter(thing: object) -> None:
    """`thing` is immortal if it is alive when the interpreter ends."""
    _to_outlive.add(thing)


def _enter() -> bool:
    global _inside
    with _changed:
        if _ended and threading.current_thread() is not threading.main_thread():
            return False
        _inside += 1
        return True


def _leave() -> None:
    global _inside
    with _changed:
        _inside -= 1
        _changed.notify_all()


def _release(release: Callable[[Any], Any], address: int) -> None:
    if _enter():  # releasing a graph calls Python to give back borrowed arrays
        try:
            release(address)
        finally:
            _leave()


@atexit.register
def _end() -> None:
    global _ended
    with _changed:
        _ended = True
        for thing in list(_to_outlive):
            immortal(thing)
        _changed.wait_for(lambda: _inside == 0)


def _begin_child() -> None:
    """In the child of a fork: only the forking thread exists there."""
    global _changed, _inside
    _changed, _inside = threading.Condition(), 0


os.register_at_fork(after_in_child=_begin_child)
