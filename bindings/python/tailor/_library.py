"""Finds and loads the shared libraries, and declares their functions.

Lookup: only the directory in TAILOR_LIBRARY_DIR, if that is set. Else the folder of this package (wheels have them in its
lib), build/lib of the source tree, and then the system's loader (ldconfig, LD_LIBRARY_PATH).
"""
from __future__ import annotations

import ctypes
import functools
import os
import pathlib
from ctypes import CFUNCTYPE, POINTER, Structure, c_char_p, c_double, c_int32, c_int64, c_size_t, c_uint64, c_void_p
from typing import Any, Optional

from . import _integers
from ._integers import Options
from .errors import Error, code_name

ABI = 1  # of the libraries: their SONAME is lib<name>.so.1
MAX_RANK = 8
SIZE_MAX = c_size_t(-1).value

ReleaseFn = CFUNCTYPE(None, c_void_p)
TakeFn = CFUNCTYPE(None, c_void_p, c_void_p, c_size_t)
ProgressFn = CFUNCTYPE(c_int32, c_void_p, c_char_p, c_double)
TaskFn = CFUNCTYPE(None, c_void_p, c_size_t)
ParallelForFn = CFUNCTYPE(None, c_void_p, TaskFn, c_void_p, c_size_t)
LogFn = CFUNCTYPE(None, c_void_p, c_int32, c_char_p)


class Tensor(Structure):
    _fields_ = [("struct_size", c_uint64), ("data", c_void_p), ("data_bytes", c_uint64), ("dtype", c_int32),
                ("rank", c_int32), ("dims", c_int64 * MAX_RANK), ("strides", POINTER(c_int64)), ("device", c_int64)]


class RuntimeOptions(Options):
    _fields_ = [("struct_size", c_uint64), ("allocate", c_void_p), ("deallocate", c_void_p), ("log", LogFn),
                ("user", c_void_p), ("product_provider", c_void_p), ("product_choice", c_char_p),
                ("product_choice_size", c_uint64), ("cublas_lt", c_int64), ("parallel_for", ParallelForFn),
                ("parallel_user", c_void_p), ("parallel_threads", c_uint64), ("pooled_sessions", c_uint64),
                ("pooled_bytes", c_uint64), ("perf_map", c_int64), ("released", c_void_p)]


class CustomTensor(Options):
    _fields_ = [("data", c_void_p), ("dims", POINTER(c_int64)), ("dtype", c_int32), ("rank", c_int32)]


class CustomCall(Options):
    _fields_ = [("struct_size", c_uint64), ("name", c_char_p), ("node", c_char_p), ("attributes", c_char_p),
                ("attributes_size", c_uint64), ("operands", POINTER(CustomTensor)), ("operand_count", c_uint64),
                ("results", POINTER(CustomTensor)), ("result_count", c_uint64), ("workspace", c_void_p),
                ("workspace_bytes", c_uint64), ("stream", c_void_p), ("message", c_void_p),
                ("message_capacity", c_uint64)]


CustomFn = CFUNCTYPE(c_int32, c_void_p, POINTER(CustomCall))
WorkspaceFn = CFUNCTYPE(c_int32, c_void_p, POINTER(CustomCall), POINTER(c_uint64))


class CustomOperator(Options):
    _fields_ = [("struct_size", c_uint64), ("name", c_char_p), ("name_size", c_size_t), ("device", c_int32),
                ("reserved", c_int32), ("function", CustomFn), ("workspace", WorkspaceFn), ("user", c_void_p),
                ("released", ReleaseFn)]


class CustomResult(Options):
    _fields_ = [("dims", POINTER(c_uint64)), ("rank", c_size_t), ("dtype", c_int32), ("counted_dim", c_int32)]


class CustomOptions(Options):
    _fields_ = [("struct_size", c_uint64), ("attributes", c_char_p), ("attributes_size", c_size_t),
                ("impure", c_int32), ("reserved", c_int32)]


class LoadOptions(Options):
    _fields_ = [("struct_size", c_uint64), ("verify_constants", c_int32), ("copy_constants", c_int32),
                ("target", c_char_p), ("public_key", c_char_p), ("cost_profile", c_char_p), ("cost_profile_size", c_uint64),
                ("device", c_int32), ("device_ordinal", c_int32)]


class DeviceInfo(Options):
    _fields_ = [("struct_size", c_uint64), ("kind", c_int32), ("ordinal", c_int32), ("name", c_char_p),
                ("major", c_int32), ("minor", c_int32), ("processors", c_int32), ("driver", c_int32),
                ("memory_bytes", c_uint64)]


class TensorInfo(Options):
    _fields_ = [("struct_size", c_uint64), ("name", c_char_p), ("dtype", c_int32), ("rank", c_int32),
                ("extents", c_int64 * MAX_RANK), ("dim_texts", c_char_p * MAX_RANK), ("donated", c_int64),
                ("memory_of", c_int64)]


class SymbolInfo(Options):
    _fields_ = [("struct_size", c_uint64), ("name", c_char_p), ("min", c_int64), ("max", c_int64),
                ("multiple_of", c_int64)]


class LaunchInfo(Options):
    _fields_ = [("struct_size", c_uint64), ("kernel", c_char_p), ("versions", c_uint64), ("dropped", c_uint64),
                ("code", c_uint64), ("code_bytes", c_uint64)]


class TraceEvent(Options):
    _fields_ = [("struct_size", c_uint64), ("launch", c_int32), ("version", c_int32), ("begin_ns", c_int64),
                ("end_ns", c_int64)]


TraceFn = CFUNCTYPE(None, c_void_p, POINTER(TraceEvent))


class SessionOptions(Options):
    _fields_ = [("struct_size", c_uint64), ("threads", c_uint64), ("parallel_for", ParallelForFn),
                ("parallel_user", c_void_p), ("copy_strided", c_int32), ("idle_sleep", c_int32), ("trace", TraceFn),
                ("trace_user", c_void_p), ("stream", c_void_p), ("asynchronous", c_int32), ("host_outputs", c_int32),
                ("cuda_graph", c_int64), ("timeout_ns", c_int64)]


class PlanInfo(Options):
    _fields_ = [("struct_size", c_uint64), ("workspace_bytes", c_uint64), ("threads", c_uint64),
                ("data_dependent", c_uint64), ("kernels", c_uint64), ("versions", c_uint64), ("code_bytes", c_uint64),
                ("chosen", POINTER(c_int32)), ("reads_back", c_uint64)]


class ExecutableCounts(Options):
    _fields_ = [("struct_size", c_uint64), *((name, c_uint64) for name in (
        "runs", "failed_runs", "cancelled_runs", "runs_in_progress", "sessions", "pooled_sessions", "workspace_bytes",
        "constants_bytes", "shape_cache_misses", "workspace_growths"))]


class Counters(Options):
    _fields_ = [("struct_size", c_uint64), ("images_linked", c_uint64), ("workspace_growths", c_uint64),
                ("runs", c_uint64)]


class SymbolOptions(Options):
    _fields_ = [("struct_size", c_uint64), ("min", c_int64), ("max", c_int64), ("multiple_of", c_int64),
                ("likely", POINTER(c_int64)), ("likely_count", c_size_t)]


class SpatialOptions(Options):
    _fields_ = [("struct_size", c_uint64), ("rank", c_size_t), ("strides", POINTER(c_int64)),
                ("dilations", POINTER(c_int64)), ("low", POINTER(c_uint64)), ("high", POINTER(c_uint64))]


class RecurrenceOptions(Options):
    _fields_ = [("struct_size", c_uint64), *((name, c_uint64) for name in ("bias", "recurrent_bias", "initial_h",
                                                                             "initial_c", "lengths", "peepholes")),
                ("reverse", c_int32), ("linear_before_reset", c_int32), ("input_forget", c_int32),
                ("reserved", c_int32), ("clip", c_double), ("activations", POINTER(c_char_p)),
                ("alphas", POINTER(c_double)), ("betas", POINTER(c_double)), ("activation_count", c_size_t)]


class CompileOptions(Options):
    _fields_ = [("struct_size", c_uint64), ("targets", POINTER(c_char_p)), ("target_count", c_size_t),
                ("progress", ProgressFn), ("progress_user", c_void_p), ("threads", c_uint64),
                ("secret_key", c_char_p), ("max_versions", c_uint64), ("max_code_bytes", c_uint64),
                ("donated", POINTER(c_char_p)), ("donated_count", c_size_t),
                ("device", c_int32), ("device_ordinal", c_int32), ("offer_products", c_int32),
                ("direct_convolutions", c_int32), ("allow_tf32", c_int64),
                ("memory_limit", c_uint64), ("isolated", c_int64), ("worker", c_char_p),
                ("optimize", c_int64), ("without", POINTER(c_char_p)), ("without_count", c_size_t),
                ("cost_profile", c_char_p), ("cost_profile_size", c_uint64), ("denormals", c_int64)]


_Handle, _Out, _Text, _Value, _Dims = c_void_p, POINTER(c_void_p), [c_char_p, c_size_t], POINTER(c_uint64), POINTER(c_uint64)
_Tensors = [POINTER(Tensor), c_size_t]

# Functions that return tailor_status*. The integers of runtime functions are lengths and indices made by this package.
_RUNTIME: dict[str, Any] = {
    "tailor_runtime_create": [POINTER(RuntimeOptions), _Out],
    "tailor_runtime_register": [_Handle, POINTER(CustomOperator)],
    "tailor_session_set_seed": [_Handle, c_uint64],
    "tailor_runtime_device": [_Handle, c_size_t, POINTER(DeviceInfo)],
    "tailor_executable_load": [_Handle, *_Text, POINTER(LoadOptions), _Out],
    "tailor_executable_load_memory": [_Handle, c_void_p, c_size_t, POINTER(LoadOptions), ReleaseFn, c_void_p, _Out],
    "tailor_executable_save": [_Handle, *_Text],
    "tailor_executable_save_memory": [_Handle, c_void_p, c_size_t, POINTER(c_size_t)],
    "tailor_executable_input": [_Handle, c_size_t, POINTER(TensorInfo)],
    "tailor_executable_output": [_Handle, c_size_t, POINTER(TensorInfo)],
    "tailor_executable_symbol": [_Handle, c_size_t, POINTER(SymbolInfo)],
    "tailor_executable_launch": [_Handle, c_size_t, POINTER(LaunchInfo)],
    "tailor_executable_describe": [_Handle, POINTER(c_char_p)],
    "tailor_session_create": [_Handle, POINTER(SessionOptions), _Out],
    "tailor_session_run": [_Handle, *_Tensors, *_Tensors],
    "tailor_session_bind": [_Handle, *_Tensors, *_Tensors],
    "tailor_session_run_bound": [_Handle],
    "tailor_session_wait": [_Handle],
    "tailor_session_cancel": [_Handle],
    "tailor_session_trim": [_Handle],
    "tailor_executable_trim": [_Handle],
    "tailor_executable_counters": [_Handle, POINTER(ExecutableCounts)],
    "tailor_session_uncancel": [_Handle],
    "tailor_session_set_timeout": [_Handle, c_int64],
    "tailor_session_poll": [_Handle, POINTER(c_int32)],
    "tailor_session_follow": [_Handle, c_void_p],
    "tailor_session_record": [_Handle, c_void_p],
    "tailor_session_take_output": [_Handle, c_size_t, c_void_p, _Out],
    "tailor_session_take_output_versioned": [_Handle, c_size_t, c_void_p, _Out],
    "tailor_tensor_from_dlpack": [_Handle, c_void_p, POINTER(Tensor)],
    "tailor_tensor_from_dlpack_versioned": [_Handle, c_void_p, POINTER(Tensor)],
    "tailor_session_reserve": [_Handle, *_Tensors],
    "tailor_executable_run": [_Handle, *_Tensors, *_Tensors],
    "tailor_executable_plan": [_Handle, *_Tensors, *_Tensors, POINTER(PlanInfo)],
}

# Functions that cannot fail.
_RUNTIME_PLAIN: dict[str, Any] = {
    "tailor_status_code": (c_int32, [_Handle]),
    "tailor_status_message": (c_char_p, [_Handle]),
    "tailor_status_node": (c_char_p, [_Handle]),
    "tailor_status_release": (None, [_Handle]),
    "tailor_version": (c_char_p, []),
    "tailor_cpu_features": (c_char_p, []),
    "tailor_usable_cpus": (c_uint64, []),
    "tailor_runtime_release": (None, [_Handle]),
    "tailor_runtime_device_count": (c_size_t, [_Handle]),
    "tailor_runtime_cuda_absence": (c_char_p, [_Handle]),
    "tailor_session_stream": (c_void_p, [_Handle]),
    "tailor_executable_release": (None, [_Handle]),
    "tailor_session_release": (None, [_Handle]),
    "tailor_executable_input_count": (c_size_t, [_Handle]),
    "tailor_executable_output_count": (c_size_t, [_Handle]),
    "tailor_executable_symbol_count": (c_size_t, [_Handle]),
    "tailor_executable_launch_count": (c_size_t, [_Handle]),
    "tailor_counters_read": (None, [POINTER(Counters)]),
}

_COMPILER: dict[str, Any] = {
    "tailor_graph_create": [*_Text, _Out],
    "tailor_graph_parse": [*_Text, _Out],
    "tailor_graph_symbol": [_Handle, *_Text, POINTER(SymbolOptions), _Dims],
    "tailor_graph_dim": [_Handle, c_int64, _Dims],
    **{f"tailor_dim_{name}": [_Handle, c_uint64, c_uint64, _Dims]
       for name in ("add", "sub", "mul", "floordiv", "mod", "min", "max", "ceildiv", "truncdiv", "truncmod", "less",
                    "equal")},
    "tailor_dim_range": [_Handle, c_uint64, POINTER(c_int64), POINTER(c_int64)],
    "tailor_dim_compare": [_Handle, c_uint64, c_uint64, c_int32, POINTER(c_int32)],
    "tailor_dim_select": [_Handle, c_uint64, c_uint64, c_uint64, _Dims],
    "tailor_graph_assume_equal": [_Handle, c_uint64, c_uint64],
    "tailor_graph_assume_at_least": [_Handle, c_uint64, c_uint64, *_Text],
    "tailor_graph_input": [_Handle, *_Text, c_int32, _Dims, c_size_t, _Value],
    "tailor_graph_output": [_Handle, *_Text, c_uint64],
    "tailor_graph_constant": [_Handle, *_Text, c_int32, POINTER(c_int64), c_size_t, c_void_p, c_size_t, ReleaseFn,
                              c_void_p, _Value],
    "tailor_graph_scalar": [_Handle, c_int32, c_double, _Value],
    "tailor_graph_set_name": [_Handle, c_uint64, *_Text],
    "tailor_graph_value_type": [_Handle, c_uint64, POINTER(c_int32), POINTER(c_int32), _Dims],
    "tailor_graph_text": [_Handle, POINTER(c_char_p)],
    "tailor_dim_text": [_Handle, c_uint64, POINTER(c_char_p)],
    "tailor_graph_facts_text": [_Handle, POINTER(c_char_p)],
    "tailor_graph_softmax": [_Handle, c_uint64, c_int64, _Value],
    "tailor_graph_log_softmax": [_Handle, c_uint64, c_int64, _Value],
    "tailor_graph_layer_norm": [_Handle, c_uint64, c_uint64, c_uint64, c_double, _Value],
    "tailor_graph_gelu": [_Handle, c_uint64, _Value],
    "tailor_graph_gelu_tanh": [_Handle, c_uint64, _Value],
    "tailor_graph_l2_normalize": [_Handle, c_uint64, c_int64, c_double, _Value],
    "tailor_graph_attention": [_Handle, c_uint64, c_uint64, c_uint64, c_uint64, c_double, _Value],
    "tailor_graph_conv": [_Handle, c_uint64, c_uint64, c_uint64, c_int64, POINTER(SpatialOptions), _Value],
    "tailor_graph_max_pool": [_Handle, c_uint64, _Dims, c_size_t, POINTER(SpatialOptions), _Value],
    "tailor_graph_average_pool": [_Handle, c_uint64, _Dims, c_size_t, c_int32, POINTER(SpatialOptions), _Value],
    "tailor_graph_rnn": [_Handle, c_uint64, c_uint64, c_uint64, POINTER(RecurrenceOptions), _Value, _Value],
    "tailor_graph_gru": [_Handle, c_uint64, c_uint64, c_uint64, POINTER(RecurrenceOptions), _Value, _Value],
    "tailor_graph_lstm": [_Handle, c_uint64, c_uint64, c_uint64, POINTER(RecurrenceOptions), _Value, _Value, _Value],
    "tailor_graph_sort": [_Handle, c_uint64, c_int64, c_int32, _Value, _Value],
    "tailor_graph_top_k": [_Handle, c_uint64, c_uint64, c_int64, c_int32, _Value, _Value],
    "tailor_graph_compact": [_Handle, c_uint64, c_uint64, _Value],
    "tailor_graph_nonzero": [_Handle, c_uint64, _Value],
    "tailor_graph_unique": [_Handle, c_uint64, POINTER(c_int64), c_int32, _Value, _Value, _Value, _Value],
    "tailor_graph_while": [_Handle, _Value, c_size_t, _Handle, _Handle, _Dims, c_size_t, _Value],
    "tailor_graph_if": [_Handle, c_uint64, _Value, c_size_t, _Handle, _Handle, _Dims, c_size_t, _Value, c_size_t],
    "tailor_graph_custom": [_Handle, *_Text, _Value, c_size_t, POINTER(CustomResult), c_size_t, POINTER(CustomOptions),
                            _Value],
    "tailor_graph_compile": [_Handle, _Handle, POINTER(CompileOptions), _Out],
    "tailor_graph_compile_artifact": [_Handle, POINTER(CompileOptions), TakeFn, c_void_p],
}

_COMPILER_PLAIN: dict[str, Any] = {
    "tailor_graph_release": (None, [_Handle]),
    "tailor_graph_output_count": (c_size_t, [_Handle]),
    "tailor_compiler_modules_emitted": (c_uint64, []),
}


def find(name: str) -> str:
    """What the loader takes for library `name` ("tailor_runtime"): a path, or a bare file name for the system's own."""
    files = [f"lib{name}.so.{ABI}", f"lib{name}.so"]
    configured = os.environ.get("TAILOR_LIBRARY_DIR")
    package = pathlib.Path(__file__).resolve().parent
    places = [package / "lib", package, package.with_name("tailor.libs")]
    if configured:
        places = [pathlib.Path(configured)]
    elif (package.parents[2] / "CMakeLists.txt").exists():  # the source tree
        places.append(package.parents[2] / "build" / "lib")
    for place in places:
        for file in files:
            if (place / file).exists():
                return str(place / file)
    if not configured and _is_installed(files[0]):
        return files[0]
    tried = ", ".join(map(str, places))
    if configured:
        raise ImportError(f"{files[0]} and {files[1]} are not in TAILOR_LIBRARY_DIR: {tried}", name=name)
    raise ImportError(f"{files[0]} and {files[1]} are in none of: {tried}; nor does the system's loader know {files[0]}. "
                      "Set TAILOR_LIBRARY_DIR, or install the libraries", name=name)


def _is_installed(file: str) -> bool:
    """Whether the system's loader finds a library of this file name."""
    try:
        ctypes.CDLL(file)
    except OSError as error:
        if pathlib.Path(file).name in str(error) and "cannot open shared object file" in str(error):
            return False
        raise ImportError(f"the library of the system cannot be loaded: {error}") from None
    return True


def load(name: str, mode: int = ctypes.DEFAULT_MODE) -> ctypes.CDLL:
    """Loads a library of Tailor's; ImportError if it is not found or does not load."""
    path = find(name)
    try:
        return ctypes.CDLL(path, mode=mode)
    except OSError as error:
        raise ImportError(f"{path} cannot be loaded: {error}", name=name, path=path) from None


def product_provider(name: str) -> Any:
    """The address of the table of libtailor_NAME.so."""
    function = getattr(load(f"tailor_{name}"), f"tailor_{name}_product_provider")
    function.restype = c_void_p
    return function()


def _declare(library: ctypes.CDLL, fallible: dict[str, Any], plain: dict[str, Any]) -> ctypes.CDLL:
    try:
        for name, arguments in fallible.items():
            function = getattr(library, name)
            function.argtypes, function.restype = arguments, c_void_p
        for name, (result, arguments) in plain.items():
            function = getattr(library, name)
            function.argtypes, function.restype = arguments, result
    except AttributeError:
        raise ImportError(f"{library._name} has no {name}: it is of another version than this package") from None
    return library


@functools.lru_cache(maxsize=None)
def runtime() -> ctypes.CDLL:
    """libtailor_runtime.so, loaded RTLD_GLOBAL so that the compiler library binds to this copy."""
    return _declare(load("tailor_runtime", ctypes.RTLD_GLOBAL), _RUNTIME, _RUNTIME_PLAIN)


@functools.lru_cache(maxsize=None)
def compiler() -> ctypes.CDLL:
    """libtailor.so. Raises ImportError if only the runtime is installed."""
    runtime()
    from . import _ops
    try:
        library = load("tailor")
    except ImportError as missing:
        raise ImportError("building and compiling graphs needs the compiler library, of the package tailor (only "
                          f"tailor-runtime may be installed): {missing}") from None
    fallible = {name: [_integers.ARGUMENTS.get(argument, argument) for argument in arguments]
                for name, arguments in {**_COMPILER, **_ops.SIGNATURES}.items()}
    return _declare(library, fallible, _COMPILER_PLAIN)


def check(status: Any) -> None:
    """Raises tailor.Error for a tailor_status* that is not NULL."""
    if not status:
        return
    library = runtime()
    try:
        error = Error(code_name(library.tailor_status_code(status)), text(library.tailor_status_message(status)),
                      text(library.tailor_status_node(status)))
    finally:
        library.tailor_status_release(status)
    try:
        raise error
    finally:
        del error  # a cycle with its traceback would keep the callers' sessions and arrays until the garbage collector runs


def check_run(status: Any, failure: Optional[BaseException]) -> None:
    """Raises what a function of the caller's raised during a run, in place of the run's own error."""
    try:
        check(status)
    finally:
        if failure is not None:
            try:
                raise failure
            finally:
                del failure  # as in check


def text(data: bytes) -> str:
    """A C string as a str."""
    return data.decode(errors="replace")
