"""Handles of the C libraries: their release, and calls in progress when the interpreter ends.

A handle is released when nothing refers to it. ctypes refers to the arguments of a call until it returns, so no handle
is released while a thread is inside a call with it. Once the interpreter ends, nothing is released: daemon threads may
stay inside calls until the process exits. Calls that call back into Python are waited for first, because Python ends a
thread that returns to it later, with C++ frames on its stack."""
import atexit
import ctypes
import os
import threading
import weakref

_changed = threading.Condition()  # its lock is reentrant: the garbage collector may release handles anywhere
_inside = 0  # calls in progress that may call back
_ended = False


class Handle(ctypes.c_void_p):
    """The output of a create function. After own(release) it is released when it is collected."""

    def own(self, release):
        weakref.finalize(self, _release, release, self.value).atexit = False
        return self


class Awaited:
    """The functions of `library` for calls that may call back into Python. The end of the interpreter waits for them;
    later calls on other threads than the main one raise RuntimeError."""

    def __init__(self, library):
        self._library = library

    def __getattr__(self, name):
        if name.startswith("_"):
            raise AttributeError(name)
        function = getattr(self._library, name)

        def call(*arguments):
            if not _enter():
                raise RuntimeError(f"{name} is called while the interpreter ends")
            try:
                return function(*arguments)
            finally:
                _leave()

        setattr(self, name, call)
        return call


def ended():
    """Whether the interpreter is ending: calls in progress should be cancelled."""
    return _ended


def immortal(thing):
    """Keeps `thing` alive for the life of the process: C code may use it while modules are torn down."""
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(thing))
    return thing


_to_outlive = weakref.WeakSet()


def outlives_the_interpreter(thing):
    """`thing` is immortal if it is alive when the interpreter ends."""
    _to_outlive.add(thing)


def _enter():
    global _inside
    with _changed:
        if _ended and threading.current_thread() is not threading.main_thread():
            return False
        _inside += 1
        return True


def _leave():
    global _inside
    with _changed:
        _inside -= 1
        _changed.notify_all()


def _release(release, address):
    if _enter():  # releasing a graph calls Python to give back borrowed arrays
        try:
            release(address)
        finally:
            _leave()


@atexit.register
def _end():
    global _ended
    with _changed:
        _ended = True
        for thing in list(_to_outlive):
            immortal(thing)
        _changed.wait_for(lambda: _inside == 0)


def _begin_child():
    """In the child of a fork: only the forking thread exists there."""
    global _changed, _inside
    _changed, _inside = threading.Condition(), 0


os.register_at_fork(after_in_child=_begin_child)
