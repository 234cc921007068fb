"""Sessions: the state of one stream of runs."""
from __future__ import annotations

import ctypes
import threading
from collections.abc import Callable, Mapping, Sequence
from ctypes import byref, sizeof
from time import perf_counter
from typing import TYPE_CHECKING, Any, Optional, SupportsIndex, TypeVar, overload

import numpy

from . import _async, _convert, _device, _dlpack, _handles, _interrupts, _library
from ._callbacks import Callbacks, ParallelFor, Trace
from ._integers import address, checked
from ._library import check, check_run
from ._memory import OutputMemory
from ._program import Program, given, shapes
from .errors import Error

if TYPE_CHECKING:
    from ._types import Array, Input, Inputs, Tensor
    from .runtime import Executable

OutputT = TypeVar("OutputT")


class Session(_handles.Closable):
    """Workspace and threads for one stream of runs. One call at a time: a concurrent call raises Error. Results never
    depend on `threads`. A session keeps what it needs of its executable, also if that is closed."""

    _noun = "session"

    def __init__(self, executable: Executable, threads: SupportsIndex, copy_strided: bool, trace: Optional[Trace],
                 parallel_for: Optional[ParallelFor], stream: Optional[int] = None, asynchronous: bool = False,
                 host_outputs: bool = True, cuda_graph: bool = False, timeout: Optional[float] = None) -> None:
        """Made by Executable.session, which describes the options."""
        program = executable._program
        self.executable, self._program, self._copy_strided = executable, program, bool(copy_strided)
        self._callbacks = Callbacks(parallel_for, trace, executable)
        self._library = _handles.Awaited(_library.runtime()) if self._callbacks.given else program.library
        options = _library.SessionOptions(sizeof(_library.SessionOptions), threads, self._callbacks.parallel_for, None,
                                          bool(copy_strided), 0, self._callbacks.trace, None, stream,
                                          bool(asynchronous), bool(host_outputs), bool(cuda_graph),
                                          _nanoseconds(timeout))
        handle = _handles.Handle()
        check(self._library.tailor_session_create(program.handle, byref(options), byref(handle)))
        self._kept = _Kept(program, self._callbacks)
        self._handle = handle.own(_library.runtime().tailor_session_release, self._kept)
        self._stream: Optional[int] = program.library.tailor_session_stream(self._handle)
        self._memory = OutputMemory()
        self._threads, self._asynchronous = int(threads), bool(asynchronous)
        self._takes_long = True  # the last run did, or there was none
        self._one_call = threading.Lock()  # also while results are copied out of the session
        self._one_awaited = threading.Lock()  # of run_async, from before its run begins
        if asynchronous:
            _handles.outlives_the_interpreter(self)

    def close(self) -> None:
        """Releases the session and the memory that it kept; see Closable."""
        super().close()
        self._memory.clear()

    def __repr__(self) -> str:
        state = ", closed" if self._closed else ""
        threads = f", threads={self._threads}" if self._threads else ""
        return f"Session({self._program}{threads}{state})"

    @overload
    def run(self, *inputs: Inputs, out: None = None, borrow: bool = False, **named: Input) -> list[Array]: ...

    @overload
    def run(self, *inputs: Inputs, out: Sequence[OutputT], borrow: bool = False, **named: Input) -> list[OutputT]: ...

    def run(self, *inputs: Any, out: Any = None, borrow: bool = False, **named: Any) -> Any:
        """Runs once and returns the list of outputs. Inputs by position, by name, or in one dict; arrays are passed
        without copies, and never converted: another element type is an error. Lists and numbers are converted. A
        donated input is written; the output in its memory is that array.

        A new output of a megabyte or more may be in the memory of an output of an earlier run, once no array refers to
        that memory.

        out: arrays to write to. borrow: give arrays over the session's own memory, valid until its next run,
        which may read them as inputs.

        On a GPU, arrays in its memory (with __dlpack__ or __cuda_array_interface__) are read and written in place;
        others are copied. The session's stream waits for the producer of an input with __dlpack__, by that protocol.
        An output that the session provides on the GPU leaves it with its memory when its __dlpack__ is called. Arrays
        of asynchronous runs are kept until wait returns or poll says that they are done, sometimes until a later run,
        which then raises an error that the GPU found."""
        arrays, tensors = self._program.arguments(inputs, named, self._stream, self._copy_strided)
        self._begin("tailor_session_run")
        try:
            self._kept.runs += 1
            if self._asynchronous:
                self._keep(arrays)
            if borrow:
                return self._run_borrowed(tensors)
            if out is None:
                outputs = self._program.new_outputs(arrays, tensors, self._memory)
                results = self._program.described_outputs(outputs)
            else:
                outputs, results = self._program.destinations(out, self._stream)
            if self._asynchronous:
                self._keep(outputs)
            handle = self._handle  # also after close() on another thread
            self._check(self._interruptible(self._library.tailor_session_run, handle, tensors, len(arrays), results,
                                            len(outputs)))
            return [self._copied(i, result, handle) if array is None else given(array)
                    for i, (array, result) in enumerate(zip(outputs, results))]
        finally:
            self._one_call.release()

    async def run_async(self, *inputs: Inputs, out: Any = None, borrow: bool = False, **named: Input) -> list[Any]:
        """run() on a thread of the event loop's executor. The session is in use until the run has ended: a second task
        that awaits a run of it meanwhile gets an Error. A cancelled task cancels the run."""
        outputs: list[Any] = await _async.call(self, lambda: self.run(*inputs, out=out, borrow=borrow, **named))
        return outputs

    def bind(self, inputs: Sequence[Input] | Mapping[str, Input], outputs: Sequence[Tensor]) -> None:
        """Fixes the arrays that every run_bound reads and writes."""
        listed = (inputs,) if isinstance(inputs, Mapping) else tuple(inputs)
        arrays, tensors = self._program.arguments(listed, {}, self._stream)
        destinations, results = self._program.destinations(outputs, self._stream)
        self._begin("tailor_session_bind")
        try:
            check(self._library.tailor_session_bind(self._handle, tensors, len(arrays), results, len(destinations)))
            if self._asynchronous:
                self._keep(self._kept.bound)
            self._kept.bound = [arrays, destinations]
        finally:
            self._one_call.release()

    def run_bound(self) -> None:
        """Runs with the bound arrays."""
        self._begin("tailor_session_run_bound")
        try:
            self._check(self._interruptible(self._library.tailor_session_run_bound, self._handle))
        finally:
            self._one_call.release()

    def cancel(self) -> None:
        """Cancels the run in progress, or else the next one: it raises Error with code CANCELLED. From any thread. The
        session stays usable."""
        check(_library.runtime().tailor_session_cancel(self._handle))

    def uncancel(self) -> None:
        """Takes back a cancel that has found no run."""
        check(_library.runtime().tailor_session_uncancel(self._handle))

    def set_timeout(self, seconds: Optional[float]) -> None:
        """Later runs that take longer raise Error with code DEADLINE_EXCEEDED; None: no limit."""
        self._call("tailor_session_set_timeout", _nanoseconds(seconds))

    def wait(self) -> None:
        """Returns when all runs are done; raises an error that the GPU found in runs that were not waited for."""
        self._begin("tailor_session_wait")
        try:
            self._check(self._library.tailor_session_wait(self._handle))
            self._kept.under_way.clear()
        finally:
            self._one_call.release()

    def poll(self) -> bool:
        """Whether all runs are done, without waiting. If they are, raises as wait does."""
        self._begin("tailor_session_poll")
        try:
            return self._poll()
        finally:
            self._one_call.release()

    def follow(self, event: SupportsIndex) -> None:
        """Later runs begin after the work before CUDA event `event` (its handle, a number)."""
        self._call("tailor_session_follow", address(event, "event"))

    def record(self, event: SupportsIndex) -> None:
        """Records CUDA event `event` (its handle, a number) after the runs so far."""
        self._call("tailor_session_record", address(event, "event"))

    @property
    def stream(self) -> Optional[int]:
        """The handle of the session's CUDA stream, a number; None on the CPU."""
        self._handle  # an error after close()
        return self._stream

    def set_seed(self, seed: SupportsIndex) -> None:
        """The seed of the random operators of later runs, which are numbered from 0: equal seeds and numbers give equal
        results. Without it all runs of an executable have one seed, drawn from the system at load."""
        self._call("tailor_session_set_seed", checked(seed, "seed", ctypes.c_uint64))

    def reserve(self, *inputs: Any, **named: Any) -> None:
        """Grows the workspace to the size for inputs of these shapes (arrays or tuples), without running."""
        arrays, tensors = self._program.arguments(*shapes(inputs, named))
        self._call("tailor_session_reserve", tensors, len(arrays))

    def _interruptible(self, function: Callable[..., Any], handle: _handles.Handle, *arguments: Any) -> Any:
        """The status of a run, which an interrupt of the main thread cancels. Listening for interrupts takes longer than a
        short run: only done if the last run took long."""
        begin = perf_counter()
        if self._takes_long and _interrupts.apply():
            library = _library.runtime()
            with _interrupts.cancelling(lambda: check(library.tailor_session_cancel(handle)),
                                        lambda: check(library.tailor_session_uncancel(handle))):
                status = function(handle, *arguments)
        else:
            status = function(handle, *arguments)
        self._takes_long = perf_counter() - begin > _LONG
        return status

    def trim(self) -> None:
        """Frees the session's memory, after waiting for its runs; the next run allocates again. Borrowed outputs are then
        invalid, except those that have left the session; bound arrays stay bound."""
        self._call("tailor_session_trim", then=self._memory.clear)

    def _begin(self, function: str) -> None:
        """Begins a call of the session, whose end releases the lock. A concurrent call raises as the C function does."""
        if not self._one_call.acquire(blocking=False):
            raise Error("FAILED_PRECONDITION",
                        f"{function}: the session is in use by another call; a session runs one call at a time")

    def _call(self, function: str, *arguments: Any, then: Callable[[], None] = lambda: None) -> None:
        self._begin(function)
        try:
            self._check(getattr(self._library, function)(self._handle, *arguments))
            then()
        finally:
            self._one_call.release()

    def _poll(self) -> bool:
        done = ctypes.c_int32()
        self._check(self._library.tailor_session_poll(self._handle, byref(done)))
        if done.value:
            self._kept.under_way.clear()
        return bool(done.value)

    def _run_borrowed(self, tensors: Any) -> list[Any]:
        results = (_library.Tensor * len(self._program.outputs))()
        for tensor in results:
            tensor.struct_size = sizeof(_library.Tensor)
        handle = self._handle
        self._check(self._interruptible(self._library.tailor_session_run, handle, tensors, len(tensors), results,
                                        len(results)))
        return [self._view(i, tensor, handle) for i, tensor in enumerate(results)]

    def _keep(self, arrays: list[Any]) -> None:
        """Keeps arrays alive until no asynchronous run reads or writes them."""
        if len(self._kept.under_way) >= _MOST_KEPT:
            self._poll()
        self._kept.under_way.append(arrays)

    def _check(self, status: Any) -> None:
        of_session, of_runtime = self._callbacks.failures.take(), self._program.failures.take()
        check_run(status, of_runtime if of_session is None else of_session)

    def _copied(self, index: int, tensor: Any, handle: _handles.Handle) -> Any:
        view = self._view(index, tensor, handle)
        return view if isinstance(view, _device.DeviceArray) else view.copy()

    def _view(self, index: int, tensor: Any, handle: _handles.Handle) -> Any:
        shape, dtype = tensor.dims[:tensor.rank], _convert.numpy_dtype(tensor.dtype)
        if tensor.device == _device.DEVICE_MEMORY:
            return _device.DeviceArray(tensor.data, shape, dtype, owner=handle, ordinal=self._program.ordinal,
                                       give=self._giver(index))
        if not tensor.data or 0 in shape:
            return numpy.empty(shape, dtype)
        count = int(numpy.prod(shape, dtype=numpy.int64))
        memory: Any = (ctypes.c_char * (count * dtype.itemsize)).from_address(tensor.data)
        memory.session = handle
        return numpy.frombuffer(memory, dtype).reshape(shape)

    def _giver(self, index: int) -> Callable[[Optional[int], bool], Any]:
        """The function that takes output `index` of this run out of the session."""
        run = self._kept.runs

        def give(stream: Optional[int], versioned: bool) -> Any:
            if self._kept.runs != run:
                raise BufferError("the array was valid until the session's next run")
            return _dlpack.capsule(self, index, stream, versioned)

        return give


def _nanoseconds(seconds: Optional[float]) -> int:
    """A timeout as the C functions take it: 0 is none."""
    if seconds is None:
        return 0
    if not seconds > 0:
        raise ValueError(f"a timeout of {seconds!r} seconds; None is no limit")
    return max(1, round(min(seconds, 2**33) * 1e9))


class _Kept:
    """What the C session uses until it is released, and the number of its runs."""

    def __init__(self, program: Program, callbacks: Callbacks) -> None:
        self.program, self.callbacks = program, callbacks
        self.runs = 0
        self.bound: list[Any] = []
        self.under_way: list[Any] = []  # the arrays of runs that may still read and write them


_LONG = 1e-3  # seconds
_MOST_KEPT = 64  # sets of arrays, before an asynchronous session polls whether its runs are done
