"""Ctrl-C during calls that call back into Python.

Python runs the handler of a signal between two of its instructions: at the first instruction of a callback, where no
`try` of ours is around it yet. ctypes drops what is raised there, and gives C an undefined result. So during such calls
the first interrupt is only noted, and raised when the call has returned. A second one is raised where it comes."""
from __future__ import annotations

import contextlib
import signal
import threading
from collections.abc import Iterator
from typing import Any

_pending = False
_deferring = False


def pending() -> bool:
    """Whether an interrupt waits for the end of the call that this thread is inside of."""
    return _pending and threading.current_thread() is threading.main_thread()


@contextlib.contextmanager
def deferred() -> Iterator[None]:
    """Notes an interrupt of the block, which is raised at its end. No effect on other threads than the main one, and where
    the process handles interrupts in its own way."""
    global _pending, _deferring
    if (threading.current_thread() is not threading.main_thread() or _deferring
            or signal.getsignal(signal.SIGINT) is not signal.default_int_handler):
        yield
        return
    _deferring = True
    signal.signal(signal.SIGINT, _note)
    try:
        yield
    finally:
        _deferring = False
        signal.signal(signal.SIGINT, signal.default_int_handler)
        interrupted, _pending = _pending, False
        if interrupted:
            raise KeyboardInterrupt


def _note(number: int, frame: Any) -> None:
    global _pending
    if _pending:
        raise KeyboardInterrupt
    _pending = True
