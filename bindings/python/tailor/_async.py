"""Runs that coroutines wait for."""
from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from .errors import Error

if TYPE_CHECKING:
    from .session import Session


async def call(session: Session, run: Callable[[], Any]) -> Any:
    """run() on a thread of the event loop's executor. Ends when the run has ended, or was withdrawn before it began:
    then the session and the arrays are free, also after a cancellation. One call at a time: a second one would depend
    on which run begins first, and its cancellation would end the first one's run."""
    if not session._one_awaited.acquire(blocking=False):
        raise Error("FAILED_PRECONDITION", "run_async: another task awaits a run of the session; tasks have a session "
                                           "each, or use Executable.run_async")
    try:
        return await _call(session, run)
    finally:
        session._one_awaited.release()


async def _call(session: Session, run: Callable[[], Any]) -> Any:
    import asyncio  # takes longer to import than this package

    wish = _Wish()
    future = asyncio.get_running_loop().run_in_executor(None, lambda: run() if wish.begin() else None)
    try:
        return await asyncio.shield(future)
    except asyncio.CancelledError:
        if not wish.withdraw():
            with contextlib.suppress(Error):  # the session may be closed
                session.cancel()
        while not future.done():
            try:
                await asyncio.wait([future])
            except asyncio.CancelledError:  # cancelled again: the run still has to end
                pass
        with contextlib.suppress(Error):
            session.uncancel()
        if not future.cancelled():
            future.exception()  # else asyncio reports that nobody looked at it
        raise


class _Wish:
    """A run that was asked for: it begins or is withdrawn."""

    def __init__(self) -> None:
        self._lock, self._begun, self._withdrawn = threading.Lock(), False, False

    def begin(self) -> bool:
        """Whether the run may begin."""
        with self._lock:
            self._begun = not self._withdrawn
            return self._begun

    def withdraw(self) -> bool:
        """Whether the run has not begun, and will not."""
        with self._lock:
            self._withdrawn = not self._begun
            return self._withdrawn
