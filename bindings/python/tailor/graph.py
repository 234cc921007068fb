"""Building and compiling graphs. Needs libtailor.so; it is loaded with the first Graph."""
from __future__ import annotations

import ctypes
import itertools
import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from ctypes import byref, c_char_p, c_int32, c_uint64, sizeof
from typing import TYPE_CHECKING, Any, Optional, SupportsIndex, Union

import numpy

from . import _convert, _handles, _interrupts, _library
from ._building import Building
from ._convert import i64
from ._integers import checked
from ._library import check
from ._ops import GraphOps
from .errors import Error
from .layers import Layers
from .runtime import Executable, Runtime
from .value import Value

if TYPE_CHECKING:
    from ._types import DimLike, DTypeLike, Operand

Targets = Union[str, Iterable[str]]
Pad = Union[SupportsIndex, Sequence["DimLike"]]  # before and after alike, or (before, after)
Result = Sequence[Any]  # (dtype, shape) or (dtype, shape, counted dim)
Progress = Callable[[str, float], object]

# Arrays that graphs borrow, by number, until the library releases them.
_borrowed: dict[int, Any] = _handles.immortal({})
_numbers = itertools.count(1)


@_handles.immortal
@_library.ReleaseFn  # type: ignore[untyped-decorator]
def _give_back(number: int) -> None:
    _borrowed.pop(number, None)


def modules_emitted() -> int:
    """LLVM modules emitted by this process."""
    count: int = _library.compiler().tailor_compiler_modules_emitted()
    return count


class Graph(GraphOps, Layers, Building):
    """A tensor graph over symbolic shapes. One call at a time may change it; another raises Error.

    close() releases it: its values can then no longer be used, executables that were compiled from it can."""

    _noun = "graph"

    def __init__(self, name: str = "main") -> None:
        """An empty graph."""
        self._create("tailor_graph_create", name)

    @classmethod
    def parse(cls, text: str) -> Graph:
        """A graph from its canonical text. Constants whose bytes the text leaves out are zeros."""
        graph = cls.__new__(cls)
        graph._create("tailor_graph_parse", text)
        return graph

    @classmethod
    def of_handle(cls, handle: _handles.Handle) -> Graph:
        """The graph of a _handles.Handle that a front end's library made; it is released with the graph."""
        graph = cls.__new__(cls)
        graph._own(handle)
        return graph

    def __repr__(self) -> str:
        if self._closed:
            return "Graph(closed)"
        name = re.match(r'graph @("(?:[^"\\\\]|\\\\.)*"|[^(]*)', self.text)
        return f"Graph({name.group(1) if name else ''})"

    def input(self, name: str, dtype: DTypeLike, shape: Iterable[DimLike]) -> Value:
        """Adds an input. `shape` has dims, integers, and names of symbols with default options."""
        dims, rank = self._dims(shape)
        return self._new("tailor_graph_input", *_convert.utf8(name), _convert.dtype_code(dtype), dims, rank)

    def output(self, name: str, value: Operand) -> None:
        """Makes `value` an output."""
        handle, = self._values(value)
        check(self._library.tailor_graph_output(self._handle, *_convert.utf8(name), handle))

    def constant(self, array: Any, name: str = "", dtype: Optional[DTypeLike] = None) -> Value:
        """Adds a constant over the array's memory, which must not change; arrays that are not dense are copied.

        dtype: the element type of what has none (lists and numbers); "bf16" takes a uint16 array as bits. Arrays are
        not converted: one of another type than `dtype` is refused."""
        wanted = None if dtype is None else _convert.dtype_code(dtype)
        if wanted is None:
            array = numpy.asarray(array)
        else:
            array = _convert.converted(array, wanted, f'constant "{name}"')
        if isinstance(array, numpy.ma.MaskedArray):
            raise TypeError(f'constant "{name}" is a masked array: use .filled(value)')
        code = _convert.array_code(array, wanted)
        if wanted not in (None, code):
            raise Error("INVALID_ARGUMENT", _convert.other_type(f'constant "{name}"', code, wanted))
        array = numpy.require(array, requirements=["C", "A"])
        number = next(_numbers)
        _borrowed[number] = array
        dims, rank = _convert.i64s(array.shape, "shape")
        out = c_uint64()
        check(self._awaited.tailor_graph_constant(self._handle, *_convert.utf8(name), code, dims, rank,
                                                  array.__array_interface__["data"][0], array.nbytes, _give_back,
                                                  number, byref(out)))
        return self._value(out.value)

    def scalar(self, value: float, dtype: DTypeLike) -> Value:
        """Adds a constant of no dims, rounded to `dtype`."""
        return self._new("tailor_graph_scalar", _convert.dtype_code(dtype), value)

    def assume_equal(self, lhs: DimLike, rhs: DimLike) -> None:
        """States that two dims are equal: compilation uses it, every run checks it."""
        check(self._library.tailor_graph_assume_equal(self._handle, self._dim(lhs), self._dim(rhs)))

    def assume_at_least(self, lhs: DimLike, rhs: DimLike, what: str = "") -> None:
        """States that dim lhs >= dim rhs: compilation uses it, every run checks it.

        what: the reason, for messages: "{what}: height + 2 is 2, but must be at least 3".
        """
        check(self._library.tailor_graph_assume_at_least(self._handle, self._dim(lhs), self._dim(rhs),
                                                         *_convert.utf8(what)))

    def softmax(self, x: Operand, axis: SupportsIndex = -1) -> Value:
        """e^x / sum(e^x) along `axis`."""
        return self._append("tailor_graph_softmax", *self._values(x), i64(axis, "axis"))

    def log_softmax(self, x: Operand, axis: SupportsIndex = -1) -> Value:
        """The logarithm of softmax."""
        return self._append("tailor_graph_log_softmax", *self._values(x), i64(axis, "axis"))

    def layer_norm(self, x: Operand, scale: Optional[Operand] = None, bias: Optional[Operand] = None,
                   epsilon: float = 1e-5) -> Value:
        """(x - mean) / sqrt(variance + epsilon) * scale + bias over the last axis."""
        handles = [*self._values(x), self._optional(scale), self._optional(bias)]
        return self._append("tailor_graph_layer_norm", *handles, epsilon)

    def gelu(self, x: Operand) -> Value:
        """x / 2 * (1 + erf(x / sqrt(2)))."""
        return self._append("tailor_graph_gelu", *self._values(x))

    def gelu_tanh(self, x: Operand) -> Value:
        """The tanh approximation of gelu."""
        return self._append("tailor_graph_gelu_tanh", *self._values(x))

    def l2_normalize(self, x: Operand, axis: SupportsIndex = -1, epsilon: float = 1e-12) -> Value:
        """x / max(||x||, epsilon) along `axis`."""
        return self._append("tailor_graph_l2_normalize", *self._values(x), i64(axis, "axis"), epsilon)

    def attention(self, query: Operand, key: Operand, value: Operand, mask: Optional[Operand] = None,
                  scale: float = 0.0) -> Value:
        """softmax(query key^T * scale + mask) value; scale 0 means 1 / sqrt(the last dim size of query)."""
        handles = [*self._values(query, key, value), self._optional(mask)]
        return self._append("tailor_graph_attention", *handles, scale)

    def conv(self, x: Operand, weights: Operand, bias: Optional[Operand] = None, *,
             strides: Sequence[SupportsIndex] = (), dilations: Sequence[SupportsIndex] = (),
             pads: Sequence[Pad] = (), groups: SupportsIndex = 1) -> Value:
        """The convolution of x [N, C, D...] with weights [M, C / groups, K...]; bias is [M]. Any number of spatial dims.

        pads: for each spatial dim (before, after), or one number for both."""
        rank = weights.ndim if isinstance(weights, Value) else numpy.asarray(weights).ndim
        options = self._spatial(rank - 2, strides, dilations, pads)
        handles = [*self._values(x, weights), self._optional(bias)]
        return self._append("tailor_graph_conv", *handles, i64(groups, "groups"), byref(options))

    def max_pool(self, x: Operand, sizes: Sequence[DimLike], *, strides: Sequence[SupportsIndex] = (),
                 dilations: Sequence[SupportsIndex] = (), pads: Sequence[Pad] = ()) -> Value:
        """The largest element of each window of `sizes` over the spatial dims of x [N, C, D...]."""
        options = self._spatial(len(sizes), strides, dilations, pads)
        return self._append("tailor_graph_max_pool", *self._values(x), *self._dims(sizes, "sizes"), byref(options))

    def average_pool(self, x: Operand, sizes: Sequence[DimLike], *, strides: Sequence[SupportsIndex] = (),
                     dilations: Sequence[SupportsIndex] = (), pads: Sequence[Pad] = (),
                     count_include_pad: bool = False) -> Value:
        """The mean of each window of `sizes` over the spatial dims of x [N, C, D...]."""
        options = self._spatial(len(sizes), strides, dilations, pads)
        return self._append("tailor_graph_average_pool", *self._values(x), *self._dims(sizes, "sizes"),
                            int(bool(count_include_pad)),
                            byref(options))

    def while_(self, values: Sequence[Operand], condition: Graph, body: Graph,
               shapes: Sequence[DimLike] = ()) -> list[Value]:
        """The values after running `body` on them as long as `condition` of them is true: a list.

        condition, body: graphs (values -> one bool[], values -> values) with symbols of their own, bound from the dim
            sizes of their inputs; they are copied.
        shapes: the dim sizes of all results, one after the other; needed if the body changes dim sizes, which are then
            new symbols. () infers them."""
        results = (c_uint64 * len(values))()
        check(self._library.tailor_graph_while(self._handle, *self._handles(values), condition._handle, body._handle,
                                               *self._dims(shapes, "shapes"), results))
        return [Value(self, result) for result in results]

    def if_(self, condition: Operand, values: Sequence[Operand], then_branch: Graph, else_branch: Graph,
            shapes: Sequence[DimLike] = ()) -> list[Value]:
        """The results of the branch that `condition`, a bool[], chooses: a list. Branches are graphs as for while_."""
        results = (c_uint64 * self._library.tailor_graph_output_count(then_branch._handle))()
        check(self._library.tailor_graph_if(self._handle, *self._values(condition), *self._handles(values),
                                            then_branch._handle, else_branch._handle, *self._dims(shapes, "shapes"), results,
                                            len(results)))
        return [Value(self, result) for result in results]

    def custom(self, name: str, operands: Sequence[Operand], results: Sequence[Result], *,
               attributes: Union[str, Mapping[str, Any]] = "", impure: bool = False) -> list[Value]:
        """A call of a custom operator, which Runtime.register makes known at run time: a list of its results.

        results: for each result (dtype, shape) or (dtype, shape, counted_dim). The size of a counted dim is a bound: the
            operator tells how much of it is used, and the result here has that size, a new symbol.
        attributes: text for the operator, or a dict, which becomes JSON.
        impure: calls have effects, or results that differ within a run: they are never merged or dropped."""
        if not isinstance(attributes, str):
            attributes = json.dumps(attributes)
        c_results, kept = (_library.CustomResult * len(results))(), []
        for i, (dtype, shape, *counted) in enumerate(results):
            dims, rank = self._dims(shape, f"results[{i}]")
            kept.append(dims)
            counted_dim = checked(counted[0], f"results[{i}]'s counted dim", c_int32) if counted else -1
            c_results[i] = _library.CustomResult(dims, rank, _convert.dtype_code(dtype), counted_dim)
        options = _library.CustomOptions(sizeof(_library.CustomOptions), *_convert.utf8(attributes), bool(impure))
        out = (c_uint64 * len(results))()
        check(self._library.tailor_graph_custom(self._handle, *_convert.utf8(name), *self._handles(operands), c_results,
                                                len(results), byref(options), out))
        return [Value(self, value) for value in out]

    def compile(self, targets: Targets = (), *, progress: Optional[Progress] = None, threads: SupportsIndex = 0,
                secret_key: Optional[bytes] = None, max_versions: Optional[SupportsIndex] = None,
                max_code_bytes: Optional[SupportsIndex] = None, donated: Targets = (), offer_products: bool = False,
                allow_tf32: bool = False, direct_convolutions: bool = False, memory_limit: SupportsIndex = 0,
                isolated: bool = False, optimize: SupportsIndex = 1, without: Targets = (),
                cost_profile: Optional[str] = None, denormals: str = "auto",
                runtime: Optional[Runtime] = None, device: str = "cpu") -> Executable:
        """Compiles for all shapes at once and loads the result.

        targets: "x86-64-v2", "x86-64-v3", "x86-64-v4", each also with more features ("x86-64-v4+avx512bf16"), "host";
            none: the three levels, and those with instructions for matmuls in bf16, of u8 by i8 or in i16 that the graph
            has. GPUs are further targets (docs/gpu.md).
        progress: called with (phase, share done): "analyse facts", "fuse stitch", ..., "emit", "done". False or 0 cancels.
        secret_key: 64 bytes (Ed25519) that sign the artifact.
        max_versions, max_code_bytes: bounds on the versions of a kernel (8) and on the code of a target (64 MiB).
        donated: names of inputs whose memory runs may write; memory_of in executable.outputs names the outputs there.
        offer_products: a runtime's matmul provider may compute plain matmuls.
        allow_tf32: on GPUs, operands of matmuls in f32 are rounded to tf32 (docs/gpu.md).
        direct_convolutions: on CPUs, no convolution uses Winograd's algorithm
            (docs/decisions/convolutions-are-windows.md).
        memory_limit: bytes that compiling may take beyond the graph's constants; 0: no limit. Beyond it raises
            RESOURCE_EXHAUSTED: by an estimate, or exactly if isolated.
        isolated: compile in a process of its own, so that exhausted memory and crashes of the compiler are errors, and
            `progress` cancels at once.
        optimize: 0: of CPU code, code generation optimizes only the micro-kernels of matmuls and convolutions. Compiling
            takes 0.5 to 0.8 of the time, runs longer; results are the same bits (docs/compiling.md).
        without: names of passes to leave out, to find what a result or a time is due to (docs/compiling.md).
        cost_profile: text of the cost profile of the machine to compile for (`tailor tune profile`), by which matmuls
            keep and choose their tilings. Needs exactly one CPU target (docs/compiling.md).
        denormals: "keep" or "flush" denormal numbers on CPUs; "auto" flushes if a constant of at least 257 elements has some
            (docs/compiling.md).
        device: "cpu", or "cuda" or "cuda:1" if `targets` has one that runs there ("sm_80", "sm_90", "sm_90a"; "cuda":
            all of them)."""
        with _CompileOptions(targets, progress, threads, secret_key, max_versions, max_code_bytes, donated,
                             offer_products, allow_tf32, direct_convolutions, memory_limit, isolated, optimize,
                             without, cost_profile, denormals, device) as options:
            handle = _handles.Handle()
            options.check(self._awaited.tailor_graph_compile(self._handle, runtime and runtime._handle,
                                                             byref(options.c), byref(handle)))
        return Executable(handle, runtime, device)

    def compile_artifact(self, targets: Targets = (), *, progress: Optional[Progress] = None, threads: SupportsIndex = 0,
                         secret_key: Optional[bytes] = None, max_versions: Optional[SupportsIndex] = None,
                         max_code_bytes: Optional[SupportsIndex] = None, donated: Targets = (), offer_products: bool = False,
                         allow_tf32: bool = False, direct_convolutions: bool = False, memory_limit: SupportsIndex = 0,
                         isolated: bool = False, optimize: SupportsIndex = 1, without: Targets = (),
                         cost_profile: Optional[str] = None, denormals: str = "auto") -> bytes:
        """Compiles without loading, for other machines too: the artifact's bytes."""
        taken: list[bytes] = []
        take = _library.TakeFn(lambda user, data, size: taken.append(ctypes.string_at(data, size)))
        with _CompileOptions(targets, progress, threads, secret_key, max_versions, max_code_bytes, donated,
                             offer_products, allow_tf32, direct_convolutions, memory_limit, isolated, optimize,
                             without, cost_profile, denormals, "cpu") as options:
            options.check(self._awaited.tailor_graph_compile_artifact(self._handle, byref(options.c), take, None))
        return taken[0]

    @property
    def text(self) -> str:
        """The canonical text."""
        return self._text("tailor_graph_text")

    @property
    def facts(self) -> str:
        """The facts known of the shapes, as text."""
        return self._text("tailor_graph_facts_text")

    def dim_text(self, dim: DimLike) -> str:
        """The text of a dim, in terms of the graph's symbols."""
        return self._text("tailor_dim_text", self._dim(dim))

    def _create(self, function: str, text: str) -> None:
        handle = _handles.Handle()
        check(getattr(_library.compiler(), function)(*_convert.utf8(text), byref(handle)))
        self._own(handle)

    def _own(self, handle: _handles.Handle) -> None:
        self._library = _library.compiler()
        self._awaited = _handles.Awaited(self._library)  # for what calls back
        self._handle = handle.own(self._library.tailor_graph_release)
        self._symbols = {}

    def _value(self, handle: int) -> Value:
        return Value(self, handle)

    def _text(self, function: str, *arguments: Any) -> str:
        text = c_char_p()
        check(getattr(self._library, function)(self._handle, *arguments, byref(text)))
        return _library.text(text.value or b"")


def _names(given: Targets, what: str) -> ctypes.Array[c_char_p]:
    """A name, or several, for C."""
    texts = [given] if isinstance(given, str) else list(given)
    for text in texts:
        if "\0" in text:
            raise ValueError(f"{what} {text!r} contains NUL")
    return (c_char_p * len(texts))(*(text.encode() for text in texts))


_DENORMALS = ("auto", "keep", "flush")


class _CompileOptions:
    """The C options of one compilation; an exception in `progress` cancels it and is raised at the end."""

    def __init__(self, targets: Targets, progress: Optional[Progress], threads: SupportsIndex,
                 secret_key: Optional[bytes], max_versions: Optional[SupportsIndex],
                 max_code_bytes: Optional[SupportsIndex], donated: Targets, offer_products: bool, allow_tf32: bool,
                 direct_convolutions: bool, memory_limit: SupportsIndex, isolated: bool, optimize: SupportsIndex,
                 without: Targets, cost_profile: Optional[str], denormals: str, device: str) -> None:
        if secret_key is not None and len(secret_key) != 64:
            raise ValueError("secret_key has 64 bytes")
        if not isinstance(denormals, str) or denormals not in _DENORMALS:
            raise ValueError(f"denormals is {denormals!r}, not one of {', '.join(_DENORMALS)}")
        names, inputs, passes = _names(targets, "target"), _names(donated, "donated input"), _names(without, "pass")
        profile, profile_size = (None, 0) if cost_profile is None else _convert.utf8(cost_profile)
        self._raised: Optional[BaseException] = None
        self._progress = progress
        callback = _library.ProgressFn(self._call)
        self.c = _library.CompileOptions(sizeof(_library.CompileOptions), names, len(names), callback, None, threads,
                                         secret_key, 8 if max_versions is None else max_versions,
                                         1 << 26 if max_code_bytes is None else max_code_bytes, inputs, len(inputs),
                                         *_convert.device(device), offer_products,
                                         direct_convolutions, allow_tf32, memory_limit, bool(isolated), None, optimize,
                                         passes, len(passes), profile, profile_size, _DENORMALS.index(denormals))

    def _call(self, user: Any, phase: bytes, done: float) -> int:
        if _handles.ended() or _interrupts.pending():
            return 0
        try:
            wanted = None if self._progress is None else self._progress(_library.text(phase), done)
            return 1 if wanted is None or wanted else 0
        except BaseException as raised:
            self._raised = raised
            return 0

    def check(self, status: Any) -> None:
        """Raises what `progress` raised, or the error of the call."""
        try:
            check(status)
        except Exception:
            if self._raised is not None:
                raise self._raised from None
            raise

    def __enter__(self) -> _CompileOptions:
        return self

    def __exit__(self, *_: object) -> None:
        self.c.progress = _library.ProgressFn()  # breaks the cycle through the callback
