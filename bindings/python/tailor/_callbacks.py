"""Functions of the caller's that C code calls while it runs: executors and traces."""
from __future__ import annotations

import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple, Optional

from . import _library

if TYPE_CHECKING:
    from .runtime import Executable

ParallelFor = Callable[[Callable[[int], None], int], object]
Trace = Callable[["TraceEvent"], object]


class Launch(int):
    """The number of a kernel launch, as in Executable.launches; `kernel` is the name of its kernel."""

    kernel: str

    def __new__(cls, number: int, kernel: str) -> Launch:
        """Launch `number` of a kernel."""
        launch = super().__new__(cls, number)
        launch.kernel = kernel
        return launch


class TraceEvent(NamedTuple):
    """A kernel launch that has ended, or the run that launched it: then `launch` is None.

    version: of the kernel, by its index in describe(); -1: data-dependent, or the run. begin_ns, end_ns: as
    time.monotonic_ns(); on a GPU those of enqueueing the kernel."""

    launch: Optional[Launch]
    version: int
    begin_ns: int
    end_ns: int


class Failures(threading.local):
    """What functions have raised during the call of C that a thread is inside of: it must not unwind C code."""

    _failure: Optional[BaseException] = None

    def add(self, failure: BaseException) -> None:
        """Keeps an exception for the end of the call: the first, or an interrupt."""
        if self._failure is None or not isinstance(failure, Exception):
            self._failure = failure

    def put_back(self, earlier: BaseException) -> None:
        """Keeps an exception that was taken, as if it had stayed."""
        later = self.take()
        self._failure = earlier
        if later is not None:
            self.add(later)

    def take(self) -> Optional[BaseException]:
        """The exception that was kept, once."""
        failure = self._failure
        if failure is not None:
            self._failure = None
        return failure


class Callbacks:
    """The caller's functions as C functions. What they raise is raised at the end of the run."""

    def __init__(self, parallel_for: Optional[ParallelFor] = None, trace: Optional[Trace] = None,
                 executable: Optional[Executable] = None) -> None:
        for name, function in {"parallel_for": parallel_for, "trace": trace}.items():
            if function is not None and not callable(function):
                raise TypeError(f"{name} is {function!r}, which cannot be called")
        self.given = bool(parallel_for or trace)
        self.failures = Failures()
        self.parallel_for, self.trace = _library.ParallelForFn(), _library.TraceFn()
        if parallel_for:
            self.parallel_for = _library.ParallelForFn(self._divider(parallel_for))
        if executable is not None and trace:
            launches = [Launch(i, launch.kernel) for i, launch in enumerate(executable.launches)]
            self.trace = _library.TraceFn(self._tracer(trace, launches))

    def _tracer(self, trace: Trace, launches: list[Launch]) -> Callable[..., None]:
        def traced(user: Any, pointer: Any) -> None:
            try:
                event = pointer.contents
                launch = None if event.launch < 0 else launches[event.launch]
                trace(TraceEvent(launch, event.version, event.begin_ns, event.end_ns))
            except BaseException as failure:
                self.failures.add(failure)

        return traced

    def _divider(self, parallel_for: ParallelFor) -> Callable[..., None]:
        def divided(user: Any, task: Callable[[Any, int], None], data: Any, count: int) -> None:
            calls = _Calls(task, data)
            earlier = self.failures.take()  # not to be raised by a run that the executor makes
            try:
                parallel_for(calls.call, count)
            except BaseException as failure:
                self.failures.add(failure)
            if earlier is not None:
                self.failures.put_back(earlier)
            while not calls.closed():
                try:
                    calls.close()
                except BaseException as failure:  # an interrupt: C code must not go on before its parts have ended
                    self.failures.add(failure)

        return divided


class _Calls:
    """Calls of one task; close() waits for them."""

    def __init__(self, task: Callable[[Any, int], None], data: Any) -> None:
        self._task, self._data = task, data
        self._changed, self._inside, self._closed = threading.Condition(), 0, False

    def call(self, index: int) -> None:
        """Runs one part, unless the kernel is over."""
        with self._changed:
            if self._closed:
                return
            self._inside += 1
        try:
            self._task(self._data, index)
        finally:
            with self._changed:
                self._inside -= 1
                self._changed.notify_all()

    def closed(self) -> bool:
        """Whether no call is in progress and none will be."""
        return self._closed and self._inside == 0

    def close(self) -> None:
        """Returns when no call is in progress; later ones do nothing."""
        with self._changed:
            self._closed = True
            self._changed.wait_for(lambda: self._inside == 0)
