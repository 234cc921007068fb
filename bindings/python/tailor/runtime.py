"""Loading and running compiled artifacts. Needs only libtailor_runtime.so."""
from __future__ import annotations

import ctypes
import json
import os
from collections.abc import Callable, Sequence
from ctypes import byref, c_char_p, sizeof
from typing import TYPE_CHECKING, Any, Optional, SupportsIndex, Union, overload

import numpy

from . import _convert, _custom, _handles, _interrupts, _library
from ._callbacks import Callbacks, Launch, ParallelFor, Trace, TraceEvent
from ._integers import checked
from ._library import check, check_run, text
from ._program import Program, functions, given, shapes
from .session import OutputT, Session
from .specs import DeviceSpec, ExecutableCounts, LaunchSpec, Plan, SymbolSpec, TensorSpec

if TYPE_CHECKING:
    from ._types import Array, Input, Inputs

__all__ = ["DeviceSpec", "Executable", "ExecutableCounts", "Launch", "LaunchSpec", "Plan", "Runtime", "Session",
           "SymbolSpec", "TensorSpec", "TraceEvent", "counters", "cpu_features", "cuda_absence", "devices", "load",
           "version"]

Path = Union[str, bytes, "os.PathLike[str]", "os.PathLike[bytes]"]
Log = Callable[[int, str], object]


def version() -> str:
    """The runtime library's version, "0.1.0"."""
    return text(_library.runtime().tailor_version())


def cpu_features() -> str:
    """The level of this machine's CPU, and the CPU features that the runtime library can and cannot use: one line."""
    return text(_library.runtime().tailor_cpu_features())


def usable_cpus() -> int:
    """The number of CPUs that the calling thread may use: those of its affinity mask, at most the CPU quota of the
    process's control groups, rounded up."""
    return int(_library.runtime().tailor_usable_cpus())


def counters() -> dict[str, int]:
    """Process-wide counts by name: images_linked, workspace_growths, runs."""
    read = _library.Counters(sizeof(_library.Counters))
    _library.runtime().tailor_counters_read(byref(read))
    return {field[0]: getattr(read, field[0]) for field in read._fields_ if field[0] != "struct_size"}


def devices() -> list[DeviceSpec]:
    """The CPU and the GPUs of this machine. Where there is no GPU, cuda_absence() says why."""
    library, out = _library.runtime(), []
    for i in range(library.tailor_runtime_device_count(None)):
        info = _library.DeviceInfo(sizeof(_library.DeviceInfo))
        check(library.tailor_runtime_device(None, i, byref(info)))
        name = text(info.name)
        if info.kind == 0:  # TAILOR_DEVICE_CPU
            out.append(DeviceSpec("cpu", name, None, None, None, info.memory_bytes))
        else:
            out.append(DeviceSpec(f"cuda:{info.ordinal}", name, f"{info.major}.{info.minor}", info.processors,
                                  f"{info.driver // 1000}.{info.driver % 1000 // 10}", info.memory_bytes))
    return out


def cuda_absence() -> str:
    """Why there is no GPU to run on; "" if there is one."""
    return text(_library.runtime().tailor_runtime_cuda_absence(None))


class Runtime(_handles.Closable):
    """State that executables share. `log(level, message)` gets the library's messages (0 info, 1 warning, 2 error).
    product_provider: the library that computes the matmuls that executables offer: "onednn" (libtailor_onednn.so), or
    "cublaslt" on GPUs.
    product_choice: which of these matmuls: the text that `tailor tune provider` writes.
    parallel_for: the executor of all sessions that have none of their own (Executable.session), those of Executable.run
    included. parallel_threads: the threads of sessions without a number of their own; None: 1.
    pooled_sessions, pooled_bytes: what each executable keeps of the sessions of Executable.run between calls, in number
    (None: 16) and in bytes of all of them (None: no limit).
    perf_map: loading lists the generated functions in /tmp/perf-<process>.map, for Linux's perf.

    Executables keep what they need of their runtime, also if it is closed."""

    _noun = "runtime"

    def __init__(self, log: Optional[Log] = None, product_provider: Optional[str] = None,
                 product_choice: Optional[str] = None, parallel_for: Optional[ParallelFor] = None,
                 parallel_threads: Optional[SupportsIndex] = None, pooled_sessions: Optional[SupportsIndex] = None,
                 pooled_bytes: Optional[SupportsIndex] = None, perf_map: bool = False) -> None:
        """A runtime; see the class."""
        library = _library.runtime()
        options = _library.RuntimeOptions(sizeof(_library.RuntimeOptions))
        if log is not None:
            options.log = _library.LogFn(_logger(log))
        options.cublas_lt = product_provider == "cublaslt"
        if product_provider is not None and not options.cublas_lt:
            options.product_provider = _library.product_provider(product_provider)
        if product_choice is not None:
            options.product_choice = product_choice.encode()
            options.product_choice_size = len(options.product_choice)
        options.perf_map = bool(perf_map)
        self._callbacks = Callbacks(parallel_for)
        options.parallel_for = self._callbacks.parallel_for
        for name, limit in (("parallel_threads", parallel_threads), ("pooled_sessions", pooled_sessions),
                            ("pooled_bytes", pooled_bytes)):
            if limit is not None:
                setattr(options, name, _positive(limit, name))
        self._pools = pooled_sessions is None and pooled_bytes is None
        self._log = options.log  # executables call it, and keep this object alive
        self._calls_back = log is not None or parallel_for is not None
        handle = _handles.Handle()
        check(library.tailor_runtime_create(byref(options), byref(handle)))
        self._operators: list[_custom.Operator] = []  # executables call them, and keep the list; copies share it
        self._handle = handle.own(library.tailor_runtime_release, (self._log, self._callbacks, self._operators))

    def __repr__(self) -> str:
        return f"Runtime(operators=[{', '.join(o.name for o in self._operators)}]{', closed' if self._closed else ''})"

    def register(self, name: str, function: Callable[[_custom.CustomCall], None], *,
                 workspace: Optional[Callable[[_custom.CustomCall], int]] = None, device: str = "cpu") -> None:
        """Registers a custom operator (Graph.custom) for executables that are loaded with this runtime from then on.

        function(call) computes call.results from call.operands; an exception ends the run with an Error that names the
        operator. Called on the thread of the run. workspace(call): bytes of call.workspace that it needs for the shapes
        of its operands. See CustomCall."""
        operator = _custom.Operator(name, function, workspace, _convert.device(device)[0])
        handle = self._handle
        self._operators.append(operator)  # first: from the call on, C may use it
        try:
            check(self._library.tailor_runtime_register(handle, byref(operator.c)))
        except BaseException:
            self._operators.remove(operator)
            raise

    @property
    def _library(self) -> _handles.Library:
        """The C functions for this runtime: awaited ones, if it may call back into Python."""
        library = _library.runtime()
        return _handles.Awaited(library) if self._calls_back or self._operators else library


class Executable(_handles.Closable):
    """A compiled graph. Immutable; any number of threads may run it. Pickled, and passed to other processes, as the
    bytes of its artifact."""

    _noun = "executable"
    _owned = ("_handle", "_program")
    _program: Program

    inputs: list[TensorSpec]
    outputs: list[TensorSpec]

    def __init__(self, handle: _handles.Handle, runtime: Optional[Runtime] = None, device: str = "cpu",
                 options: Optional[dict[str, Any]] = None) -> None:
        """Made by load, from_bytes and Graph.compile. options: those of from_bytes with which a copy is loaded."""
        self._program = Program(handle, runtime, device)
        self._handle, self._options = self._program.handle, {"device": device, **(options or {})}
        self.inputs, self.outputs = list(self._program.inputs), list(self._program.outputs)
        self._idle: list[Session] = []  # of run_async, and of runs on the main thread

    def __repr__(self) -> str:
        signature = f"inputs=[{', '.join(map(str, self.inputs))}], outputs=[{', '.join(map(str, self.outputs))}]"
        return f"Executable({signature}{', closed' if self._closed else ''})"

    def __deepcopy__(self, memo: object) -> Executable:
        """Another object for the same program, which is immutable."""
        return self.__copy__()

    def __reduce__(self) -> Any:
        """The artifact's bytes and the options with which they are loaded."""
        if self._program.runtime is not None:
            raise TypeError("an executable with a Runtime cannot be pickled: send to_bytes(), and load them with "
                            "Executable.from_bytes(data, runtime=...)")
        return _from_pickle, (self.to_bytes(), self._options)

    def close(self) -> None:
        """Releases the executable; later calls of its methods raise Error. Its sessions stay usable, and calls in
        progress on other threads are not disturbed: the memory is freed after the last of them."""
        super().close()
        self._idle.clear()

    @classmethod
    def load(cls, path: Path, *, runtime: Optional[Runtime] = None, verify_constants: bool = False,
             copy_constants: bool = False, target: Optional[str] = None, public_key: Optional[bytes] = None,
             cost_profile: Optional[str] = None, device: str = "cpu") -> Executable:
        """Loads an artifact file. Artifacts are native code: load only artifacts that you trust.

        `target` forces a variant ("x86-64-v2"). With `public_key` (32 bytes) an artifact must be signed by that key.
        `cost_profile`: the text of a profile of this machine, by which matmuls then choose their tiling.
        `device`: "cpu", "cuda" or "cuda:1"; loading fails if the artifact cannot run there."""
        options = _load_options(verify_constants, copy_constants, target, public_key, cost_profile, device)
        handle, name = _handles.Handle(), os.fsencode(path)
        check(functions(runtime).tailor_executable_load(runtime and runtime._handle, name, len(name), byref(options),
                                                        byref(handle)))
        return cls(handle, runtime, device, {"target": target, "public_key": public_key, "cost_profile": cost_profile})

    @classmethod
    def from_bytes(cls, data: Any, *, runtime: Optional[Runtime] = None, verify_constants: bool = False,
                   target: Optional[str] = None, public_key: Optional[bytes] = None, cost_profile: Optional[str] = None,
                   device: str = "cpu") -> Executable:
        """Loads an artifact from bytes (any object with the buffer interface), which are copied. Options as for
        load."""
        options = _load_options(verify_constants, True, target, public_key, cost_profile, device)
        handle, data = _handles.Handle(), bytes(memoryview(data))
        check(functions(runtime).tailor_executable_load_memory(runtime and runtime._handle, data, len(data),
                                                               byref(options), _library.ReleaseFn(), None,
                                                               byref(handle)))
        return cls(handle, runtime, device, {"target": target, "public_key": public_key, "cost_profile": cost_profile})

    def save(self, path: Path) -> None:
        """Writes the artifact, atomically. The bytes equal those loaded."""
        name = os.fsencode(path)
        check(self._program.library.tailor_executable_save(self._handle, name, len(name)))

    def to_bytes(self) -> bytes:
        """The artifact's bytes, as save writes them."""
        library, handle, size = self._program.library, self._handle, ctypes.c_size_t()
        check(library.tailor_executable_save_memory(handle, None, 0, byref(size)))
        data = numpy.empty(size.value, numpy.uint8)
        check(library.tailor_executable_save_memory(handle, data.ctypes.data, data.nbytes, byref(size)))
        return data.tobytes()

    def describe(self) -> dict[str, Any]:
        """Symbols, signature, facts, checks, launches, variants and provenance, as a dict."""
        described, handle = c_char_p(), self._handle
        check(self._program.library.tailor_executable_describe(handle, byref(described)))
        out: dict[str, Any] = json.loads(text(described.value or b""))
        return out

    @property
    def symbols(self) -> list[SymbolSpec]:
        """The symbols that the inputs' dims are made of."""
        out, library, handle = [], self._program.library, self._handle
        for i in range(library.tailor_executable_symbol_count(handle)):
            info = _library.SymbolInfo(sizeof(_library.SymbolInfo))
            check(library.tailor_executable_symbol(handle, i, byref(info)))
            out.append(SymbolSpec(text(info.name), info.min, info.max, info.multiple_of))
        return out

    @property
    def launches(self) -> list[LaunchSpec]:
        """The kernel launches, in the order in which trace numbers them."""
        out, library, handle = [], self._program.library, self._handle
        for i in range(library.tailor_executable_launch_count(handle)):
            info = _library.LaunchInfo(sizeof(_library.LaunchInfo))
            check(library.tailor_executable_launch(handle, i, byref(info)))
            out.append(LaunchSpec(text(info.kernel), info.versions, info.dropped, info.code, info.code_bytes))
        return out

    def session(self, *, threads: SupportsIndex = 0, copy_strided: bool = False, trace: Optional[Trace] = None,
                parallel_for: Optional[ParallelFor] = None, stream: Optional[int] = None, asynchronous: bool = False,
                host_outputs: bool = True, cuda_graph: bool = False, timeout: Optional[float] = None) -> Session:
        """A session: workspace and threads for one stream of runs. `threads` includes the caller's; 0: as many
        as the Runtime says, else 1.

        copy_strided: input arrays of any strides, and strided tensors of DLPack in host memory, are copied before each
        run; else they are refused.

        parallel_for(task, count) runs kernels on an executor of the caller's, `threads` ways at most: it calls task(i)
        for all i in range(count), on any threads, and returns when all calls have returned:
        `lambda task, count: list(pool.map(task, range(count)))`.

        trace(event) gets a TraceEvent with times after each launch, and after the run. event.launch is its number in
        `launches`, an int with the attribute `kernel`, the kernel's name.

        An exception of these is raised by run once the results are complete.

        timeout: seconds after which a run ends and raises Error with code DEADLINE_EXCEEDED.

        On a GPU: `stream` is the handle of the caller's CUDA stream to work in (torch.cuda.Stream.cuda_stream), a
        number. asynchronous: runs return once their work is enqueued; see Session.wait. host_outputs=False: arrays that
        the session provides stay on the GPU. cuda_graph: the kernels of a run are launched as one CUDA graph."""
        return Session(self, threads, copy_strided, trace, parallel_for, stream, asynchronous, host_outputs, cuda_graph,
                       timeout)

    @overload
    def run(self, *inputs: Inputs, out: None = None, **named: Input) -> list[Array]: ...

    @overload
    def run(self, *inputs: Inputs, out: Sequence[OutputT], **named: Input) -> list[OutputT]: ...

    def run(self, *inputs: Any, out: Any = None, **named: Any) -> Any:
        """One run with a session borrowed from the executable; from any thread. See Session.run. Ctrl-C cancels a run of the
        main thread."""
        if self._keeps_sessions() and _interrupts.apply():
            session = self._borrow()
            try:
                return session.run(*inputs, out=out, **named)
            finally:
                self._give_back(session)
        program = self._program
        arrays, tensors = program.arguments(inputs, named)
        if out is not None:
            outputs, results = program.destinations(out)
        else:
            outputs = program.new_outputs(arrays, tensors)
            if any(array is None for array in outputs):  # only a session provides memory
                with self.session() as session:
                    return session.run(*inputs, **named)
            results = program.described_outputs(outputs)
        status = program.library.tailor_executable_run(program.handle, tensors, len(arrays), results, len(outputs))
        check_run(status, program.failures.take())
        return [given(array) for array in outputs]

    async def run_async(self, *inputs: Inputs, out: Any = None, **named: Any) -> list[Any]:
        """run() on a thread of the event loop's executor, in one of the executable's idle sessions. Any number of tasks
        may wait for runs. A cancelled task cancels its run."""
        session = self._borrow()
        try:
            return await session.run_async(*inputs, out=out, **named)
        finally:
            self._give_back(session)

    def _borrow(self) -> Session:
        """An idle session, or a new one."""
        try:
            return self._idle.pop()
        except IndexError:
            session = self.session()
            del session.executable  # a cycle would keep the executable until the garbage collector runs
            return session

    def _give_back(self, session: Session) -> None:
        if not self._closed and self._keeps_sessions() and len(self._idle) < _MOST_IDLE:
            self._idle.append(session)

    def _keeps_sessions(self) -> bool:
        """Whether idle sessions are kept here. Not beside a Runtime's limits, which only the library's pool obeys."""
        runtime = self._program.runtime
        return runtime is None or runtime._pools

    def trim(self) -> None:
        """Frees the idle sessions that run and run_async keep."""
        self._idle.clear()
        check(self._program.library.tailor_executable_trim(self._handle))

    def counters(self) -> ExecutableCounts:
        """Counts of runs, sessions and memory of this executable."""
        read = _library.ExecutableCounts(sizeof(_library.ExecutableCounts))
        check(self._program.library.tailor_executable_counters(self._handle, byref(read)))
        counts = ExecutableCounts(*(getattr(read, name) for name in ExecutableCounts._fields))
        return counts._replace(pooled_sessions=counts.pooled_sessions + len(self._idle))

    def plan(self, *inputs: Any, threads: SupportsIndex = 1, **named: Any) -> Plan:
        """Output shapes and workspace bytes for inputs of these shapes (arrays or tuples), without running.

        Data-dependent dim sizes and versions are -1; runs then grow memory beyond workspace_bytes (data_dependent)."""
        program = self._program
        _, tensors = program.arguments(*shapes(inputs, named))
        chosen = (ctypes.c_int32 * program.library.tailor_executable_launch_count(program.handle))()
        info = _library.PlanInfo(sizeof(_library.PlanInfo), 0, threads, chosen=chosen)
        outputs = program.planned(tensors, info)
        return Plan([tuple(t.dims[:t.rank]) for t in outputs], info.workspace_bytes, bool(info.data_dependent),
                    info.kernels, info.versions, info.code_bytes, list(chosen), bool(info.reads_back))


_MOST_IDLE = 16  # sessions, as the library's pool

load = Executable.load


def _positive(limit: SupportsIndex, name: str) -> int:
    number = checked(limit, name, ctypes.c_uint64)
    if number == 0:
        raise ValueError(f"{name} is 0; None is the default")
    return number


def _from_pickle(data: bytes, options: dict[str, Any]) -> Executable:
    return Executable.from_bytes(data, **options)


def _logger(log: Log) -> Callable[..., None]:
    if not callable(log):
        raise TypeError(f"log is {log!r}, which cannot be called")

    def logged(user: Any, level: int, message: bytes) -> None:
        log(level, text(message))

    return logged


def _load_options(verify_constants: bool, copy_constants: bool, target: Optional[str], public_key: Optional[bytes],
                  cost_profile: Optional[str], device: str) -> _library.LoadOptions:
    if public_key is not None and len(public_key) != 32:
        raise ValueError("public_key has 32 bytes")
    return _library.LoadOptions(sizeof(_library.LoadOptions), int(verify_constants), int(copy_constants),
                                None if target is None else target.encode(), public_key,
                                None if cost_profile is None else cost_profile.encode(),
                                0 if cost_profile is None else len(cost_profile.encode()), *_convert.device(device))
