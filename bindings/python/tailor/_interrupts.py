"""Ctrl-C during calls of C functions by the main thread, where the process has Python's own handler of SIGINT.

Python runs that handler between two of its instructions. During a long run there are none: cancelling() has the signal's
number written to a pipe (signal.set_wakeup_fd), whose reader, a thread, cancels the run. In a callback the first
instruction is one, where no `try` of ours is around it yet: ctypes would drop what is raised there, and give C an
undefined result. So deferred() only notes the first interrupt, and raises it when the call has returned. A second one is
raised where it comes."""
from __future__ import annotations

import contextlib
import os
import select
import signal
import threading
from collections.abc import Callable, Iterator
from typing import Any, Optional

from _signal import getsignal  # type: ignore[import-not-found]  # signal's own takes 10 us longer, for an enum

_pending = False
_deferring = False

_lock = threading.Lock()
_cancel: Optional[Callable[[], None]] = None  # of the run in progress
_pipe: Optional[tuple[int, int]] = None  # from which signals are read, and to which they are written
_main_thread = threading.main_thread().ident


def apply() -> bool:
    """Whether an interrupt would raise KeyboardInterrupt in this thread."""
    return (threading.get_ident() == _main_thread
            and bool(getsignal(signal.SIGINT) is signal.default_int_handler))


@contextlib.contextmanager
def cancelling(cancel: Callable[[], None], uncancel: Callable[[], None]) -> Iterator[None]:
    """An interrupt of the block calls `cancel`, on another thread, if apply() and nobody else listens for signals.
    `uncancel` is called at the end if `cancel` was."""
    global _cancel
    others = signal.set_wakeup_fd(_opened(), warn_on_full_buffer=False)
    if others != -1:
        signal.set_wakeup_fd(others)
        yield
        return
    called: list[bool] = []

    def first() -> None:
        called.append(True)
        cancel()

    _cancel = first
    try:
        yield
    finally:
        signal.set_wakeup_fd(-1)
        with _lock:
            _read()  # an interrupt of this run must not cancel the next one
            _cancel = None
        if called:
            uncancel()


def _opened() -> int:
    """Where signals are written; the thread that reads them runs."""
    global _pipe
    if _pipe is None:
        _pipe = os.pipe()
        for end in _pipe:
            os.set_blocking(end, False)
        threading.Thread(target=_watch, args=(_pipe[0],), name="tailor-interrupts", daemon=True).start()
    return _pipe[1]


def _watch(reader: int) -> None:
    written = select.poll()
    written.register(reader, select.POLLIN)
    while True:
        written.poll()
        with _lock:
            if signal.SIGINT in _read() and _cancel is not None:
                _cancel()


def _read() -> bytes:
    """The signals that were written and not read yet. Needs the lock."""
    try:
        return os.read(_pipe[0], 64) if _pipe else b""
    except BlockingIOError:
        return b""


def _begin_child() -> None:
    """In the child of a fork, which has no reader, and whose main thread is the one that forked."""
    global _pipe, _lock, _cancel, _main_thread
    _pipe, _lock, _cancel, _main_thread = None, threading.Lock(), None, threading.get_ident()


os.register_at_fork(after_in_child=_begin_child)


def pending() -> bool:
    """Whether an interrupt waits for the end of the call that this thread is inside of."""
    return _pending and threading.get_ident() == _main_thread


@contextlib.contextmanager
def deferred() -> Iterator[None]:
    """Notes an interrupt of the block, which is raised at its end. No effect on other threads than the main one, and where
    the process handles interrupts in its own way."""
    global _pending, _deferring
    if _deferring or not apply():
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
