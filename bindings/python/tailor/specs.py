"""Descriptions of executables and devices: plain tuples."""
from __future__ import annotations

from typing import NamedTuple, Optional


class _TensorSpec(NamedTuple):
    name: str
    dtype: str
    dims: tuple[str, ...]


class TensorSpec(_TensorSpec):
    """One input or output: its name, element type, and the text of each dim.

    donated: an input whose memory runs write. memory_of: the name of the donated input to whose memory an output is
    written, or None."""

    donated: bool
    memory_of: Optional[str]

    def __new__(cls, name: str, dtype: str, dims: tuple[str, ...], donated: bool = False,
                memory_of: Optional[str] = None) -> TensorSpec:
        """A spec; `donated` and `memory_of` are no members of the tuple."""
        spec = super().__new__(cls, name, dtype, dims)
        spec.donated, spec.memory_of = donated, memory_of
        return spec

    def __str__(self) -> str:
        return f"{self.name}: {self.dtype}[{', '.join(self.dims)}]"


class SymbolSpec(NamedTuple):
    """A symbol of an executable: runs check that its dim size is in [min, max] and a multiple of `multiple_of`."""

    name: str
    min: int
    max: int
    multiple_of: int


class LaunchSpec(NamedTuple):
    """One kernel launch: the name of its kernel, the count of its versions and of versions that a bound dropped, the
    number of its machine code (shared by launches of equal kernels) and the bytes of that code."""

    kernel: str
    versions: int
    dropped: int
    code: int
    code_bytes: int


class Plan(NamedTuple):
    """Output shapes and resources of a run at given input shapes.

    kernels, versions, code_bytes: of the whole executable, whatever the shapes. chosen: the version that each launch
    takes. reads_back: a run on a GPU waits, before its end, for values that kernels computed."""

    shapes: list[tuple[int, ...]]
    workspace_bytes: int
    data_dependent: bool
    kernels: int
    versions: int
    code_bytes: int
    chosen: list[int]
    reads_back: bool


class ExecutableCounts(NamedTuple):
    """Counts of an executable, over all its sessions, also those that are gone. With "tailor_" before them, the names are
    those of Prometheus metrics; the ones marked "total" are counters and also end in "_total", the others are gauges.

    runs (total): begun, or refused for their arguments. failed_runs (total): also the cancelled ones. cancelled_runs
    (total): cancelled, or beyond their deadline. runs_in_progress: asynchronous ones only until they return.
    sessions: those that exist. pooled_sessions: idle ones of Executable.run. workspace_bytes: memory that the sessions
    hold now. constants_bytes. shape_cache_misses (total): runs that computed sizes, versions and layout anew.
    workspace_growths (total): allocations of the memory in workspace_bytes."""

    runs: int
    failed_runs: int
    cancelled_runs: int
    runs_in_progress: int
    sessions: int
    pooled_sessions: int
    workspace_bytes: int
    constants_bytes: int
    shape_cache_misses: int
    workspace_growths: int


class DeviceSpec(NamedTuple):
    """A device that executables can run on: its name for load and compile ("cpu", "cuda:0"), its description, and for
    a GPU its compute capability ("9.0"), multiprocessors, and the CUDA version of its driver ("12.4")."""

    device: str
    name: str
    capability: Optional[str]
    processors: Optional[int]
    driver: Optional[str]
    memory_bytes: int
