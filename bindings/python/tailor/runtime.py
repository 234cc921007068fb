"""Loading and running compiled artifacts. Needs only libtailor_runtime.so."""
import collections
import ctypes
import json
import os
import struct
import threading
from ctypes import byref, c_char_p, sizeof

import numpy

from . import _convert, _custom, _device, _dlpack, _handles, _library
from ._integers import address, checked
from ._library import check, text
from .errors import Error


class TensorSpec(collections.namedtuple("TensorSpec", "name dtype dims")):
    """One input or output: its name, element type, and the text of each dim.

    donated: an input whose memory runs write. memory_of: the name of the donated input to whose memory an output is
    written, or None."""

    def __new__(cls, name, dtype, dims, donated=False, memory_of=None):
        spec = super().__new__(cls, name, dtype, dims)
        spec.donated, spec.memory_of = donated, memory_of
        return spec


SymbolSpec = collections.namedtuple("SymbolSpec", "name min max multiple_of")
LaunchSpec = collections.namedtuple("LaunchSpec", "kernel versions dropped code code_bytes")
LaunchSpec.__doc__ = """One kernel launch: the name of its kernel, the count of its versions and of versions that a bound
dropped, the number of its machine code (shared by launches of equal kernels) and the bytes of that code."""
Plan = collections.namedtuple("Plan",
                              "shapes workspace_bytes data_dependent kernels versions code_bytes chosen reads_back")
Plan.__doc__ = """Output shapes and resources of a run at given input shapes.

kernels, versions, code_bytes: of the whole executable, whatever the shapes. chosen: the version that each launch takes.
reads_back: a run on a GPU waits, before its end, for values that kernels computed."""


def version():
    """The runtime library's version, "0.1.0"."""
    return text(_library.runtime().tailor_version())


def cpu_features():
    """The level of this machine's CPU, and the CPU features that the runtime library can and cannot use: one line."""
    return text(_library.runtime().tailor_cpu_features())


def counters():
    """Process-wide counts by name: images_linked, workspace_growths, runs."""
    read = _library.Counters(sizeof(_library.Counters))
    _library.runtime().tailor_counters_read(byref(read))
    return {name: getattr(read, name) for name, _ in read._fields_ if name != "struct_size"}


DeviceSpec = collections.namedtuple("DeviceSpec", "device name capability processors driver memory_bytes")
DeviceSpec.__doc__ = """A device that executables can run on: its name for load and compile ("cpu", "cuda:0"), its description, and
for a GPU its compute capability ("9.0"), multiprocessors, and the CUDA version of its driver ("12.4")."""


def devices():
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


def cuda_absence():
    """Why there is no GPU to run on; "" if there is one."""
    return text(_library.runtime().tailor_runtime_cuda_absence(None))


class Runtime:
    """State that executables share. `log(level, message)` gets the library's messages (0 info, 1 warning, 2 error).
    product_provider: the library that computes the matmuls that executables offer: "onednn" (libtailor_onednn.so), or
    "cublaslt" on GPUs.
    product_choice: which of these matmuls: the text that `tailor tune provider` writes."""

    def __init__(self, log=None, product_provider=None, product_choice=None):
        library = _library.runtime()
        options = _library.RuntimeOptions(sizeof(_library.RuntimeOptions))
        if log is not None:
            options.log = _library.LogFn(lambda user, level, message: log(level, text(message)))
        options.cublas_lt = product_provider == "cublaslt"
        if product_provider is not None and not options.cublas_lt:
            options.product_provider = _library.product_provider(product_provider)
        if product_choice is not None:
            options.product_choice = product_choice.encode()
            options.product_choice_size = len(options.product_choice)
        self._log = options.log  # executables call it, and keep this object alive
        self._library = library if log is None else _handles.Awaited(library)
        handle = _handles.Handle()
        check(library.tailor_runtime_create(byref(options), byref(handle)))
        self._handle = handle.own(library.tailor_runtime_release)
        self._operators = []  # executables call them, and keep this object alive

    def register(self, name, function, *, workspace=None, device="cpu"):
        """Registers a custom operator (Graph.custom) for executables that are loaded with this runtime from then on.

        function(call) computes call.results from call.operands; an exception ends the run with an Error that names the
        operator. Called on the thread of the run. workspace(call): bytes of call.workspace that it needs for the shapes
        of its operands. See CustomCall."""
        operator = _custom.Operator(name, function, workspace, _convert.device(device)[0])
        self._library = _handles.Awaited(_library.runtime())
        check(self._library.tailor_runtime_register(self._handle, byref(operator.c)))
        self._operators.append(operator)


class Executable:
    """A compiled graph. Immutable; any number of threads may run it."""

    def __init__(self, handle, runtime=None, device="cpu"):
        self._library = _functions(runtime)
        self._handle, self._runtime = handle.own(_library.runtime().tailor_executable_release), runtime
        self._ordinal = _convert.device(device)[1]
        self._inputs = self._specs(self._library.tailor_executable_input, self._library.tailor_executable_input_count)
        self._outputs = self._specs(self._library.tailor_executable_output,
                                    self._library.tailor_executable_output_count)
        self.inputs = [spec for spec, _ in self._inputs]
        self.outputs = [spec for spec, _ in self._outputs]
        self._index = {spec.name: i for i, spec in enumerate(self.inputs)}

    @classmethod
    def load(cls, path, *, runtime=None, verify_constants=False, copy_constants=False, target=None, public_key=None,
             cost_profile=None, device="cpu"):
        """Loads an artifact file. Artifacts are native code: load only artifacts that you trust.

        `target` forces a variant ("x86-64-v2"). With `public_key` (32 bytes) an artifact must be signed by that key.
        `cost_profile`: the text of a profile of this machine, by which matmuls then choose their tiling.
        `device`: "cpu", "cuda" or "cuda:1"; loading fails if the artifact cannot run there."""
        options = _load_options(verify_constants, copy_constants, target, public_key, cost_profile, device)
        handle, name = _handles.Handle(), os.fsencode(path)
        check(_functions(runtime).tailor_executable_load(runtime and runtime._handle, name, len(name), byref(options),
                                                         byref(handle)))
        return cls(handle, runtime, device)

    @classmethod
    def from_bytes(cls, data, *, runtime=None, verify_constants=False, target=None, public_key=None,
                   cost_profile=None, device="cpu"):
        """Loads an artifact from bytes, which are copied. Options as for load."""
        options = _load_options(verify_constants, True, target, public_key, cost_profile, device)
        handle, data = _handles.Handle(), bytes(data)
        check(_functions(runtime).tailor_executable_load_memory(runtime and runtime._handle, data, len(data),
                                                                byref(options), _library.ReleaseFn(), None,
                                                                byref(handle)))
        return cls(handle, runtime, device)

    def save(self, path):
        """Writes the artifact, atomically. The bytes equal those loaded."""
        name = os.fsencode(path)
        check(self._library.tailor_executable_save(self._handle, name, len(name)))

    def describe(self):
        """Symbols, signature, facts, checks, launches, variants and provenance, as a dict."""
        described = c_char_p()
        check(self._library.tailor_executable_describe(self._handle, byref(described)))
        return json.loads(text(described.value))

    @property
    def symbols(self):
        out = []
        for i in range(self._library.tailor_executable_symbol_count(self._handle)):
            info = _library.SymbolInfo(sizeof(_library.SymbolInfo))
            check(self._library.tailor_executable_symbol(self._handle, i, byref(info)))
            out.append(SymbolSpec(text(info.name), info.min, info.max, info.multiple_of))
        return out

    @property
    def launches(self):
        """The kernel launches, in the order in which trace numbers them."""
        out = []
        for i in range(self._library.tailor_executable_launch_count(self._handle)):
            info = _library.LaunchInfo(sizeof(_library.LaunchInfo))
            check(self._library.tailor_executable_launch(self._handle, i, byref(info)))
            out.append(LaunchSpec(text(info.kernel), info.versions, info.dropped, info.code, info.code_bytes))
        return out

    def session(self, *, threads=1, copy_strided=False, trace=None, parallel_for=None, stream=None, asynchronous=False,
                host_outputs=True, cuda_graph=False):
        """A session: workspace and threads for one stream of runs. `threads` includes the caller's.

        copy_strided: input arrays of any strides, and strided tensors of DLPack in host memory, are copied before each
        run; else they are refused.

        parallel_for(task, count) runs kernels on an executor of the caller's, `threads` ways at most: it calls task(i) for
        all i in range(count), on any threads, and returns when all calls have returned. An exception of it is raised by
        run once the results are complete: `lambda task, count: list(pool.map(task, range(count)))`.

        trace(launch, phase) is called before (phase 0) and after (1) each kernel launch, numbered as in describe().

        On a GPU: `stream` is the handle of the caller's CUDA stream to work in (torch.cuda.Stream.cuda_stream), a number.
        asynchronous: runs return once their work is enqueued; see Session.wait. host_outputs=False: arrays that the
        session provides stay on the GPU. cuda_graph: the kernels of a run are launched as one CUDA graph."""
        return Session(self, threads, copy_strided, trace, parallel_for, stream, asynchronous, host_outputs, cuda_graph)

    def run(self, *inputs, out=None, **named):
        """One run with a session borrowed from the executable; from any thread. See Session.run."""
        arrays, tensors = self._input_tensors(inputs, named)
        outputs = self._output_arrays(arrays, tensors) if out is None else self._writable(out)
        if any(array is None for array in outputs):  # only a session provides memory
            return self.session().run(*inputs, **named)
        results = self._tensors(outputs, self._outputs)
        check(self._library.tailor_executable_run(self._handle, tensors, len(arrays), results, len(outputs)))
        return [_given(array) for array in outputs]

    def plan(self, *inputs, threads=1, **named):
        """Output shapes and workspace bytes for inputs of these shapes (arrays or tuples), without running.

        Data-dependent dim sizes and versions are -1; runs then grow memory beyond workspace_bytes (data_dependent)."""
        _, tensors = self._input_tensors([_shaped(x) for x in inputs], {k: _shaped(v) for k, v in named.items()})
        chosen = (ctypes.c_int32 * self._library.tailor_executable_launch_count(self._handle))()
        info = _library.PlanInfo(sizeof(_library.PlanInfo), 0, threads, chosen=chosen)
        outputs = self._planned(tensors, info)
        return Plan([tuple(t.dims[:t.rank]) for t in outputs], info.workspace_bytes, bool(info.data_dependent),
                    info.kernels, info.versions, info.code_bytes, list(chosen), bool(info.reads_back))

    def _specs(self, read, count):
        """(spec, element type number) of each input or output."""
        out = []
        for i in range(count(self._handle)):
            info = _library.TensorInfo(sizeof(_library.TensorInfo), memory_of=-1)
            check(read(self._handle, i, byref(info)))
            dims = tuple(map(text, info.dim_texts[:info.rank]))
            memory_of = None if info.memory_of < 0 else self._inputs[info.memory_of][0].name
            out.append((TensorSpec(text(info.name), _convert.dtype_name(info.dtype), dims, bool(info.donated),
                                   memory_of), info.dtype))
        return out

    def _input_tensors(self, inputs, named, stream=None, copy_strided=False):
        """The arrays in signature order (to keep them alive) and their C descriptions. `stream` is to wait for them.

        copy_strided: arrays that the library cannot copy (unaligned, or strides between elements) are copied here."""
        ordered = list(inputs) + [None] * (len(self._inputs) - len(inputs))
        for name, array in named.items():
            if name not in self._index or ordered[self._index[name]] is not None:
                raise TypeError(f"{name!r} is no input or given twice; the inputs are {list(self._index)}")
            ordered[self._index[name]] = array
        if len(ordered) != len(self._inputs) or any(array is None for array in ordered):
            raise TypeError(f"expected the inputs {list(self._index)}, got {len(inputs)} and {list(named)}")
        arrays = [self._input_array(array, code, stream) for array, (_, code) in zip(ordered, self._inputs)]
        for i, (array, spec) in enumerate(zip(arrays, self.inputs)):
            if spec.donated and not isinstance(array, _Shape) and not _is_writeable(array):
                raise ValueError(f"input {spec.name!r} is donated, but read-only")
            if copy_strided and not spec.donated and isinstance(array, numpy.ndarray) and not _has_places(array):
                arrays[i] = numpy.array(array, order="C")
        return arrays, self._tensors(arrays, self._inputs)

    def _writable(self, arrays, stream=None):
        """The caller's arrays for outputs, as arguments."""
        arrays = [array if isinstance(array, numpy.ndarray) else self._foreign(array, stream) or _no_array(array)
                  for array in arrays]
        for array in arrays:
            if not _is_writeable(array):
                raise ValueError("an output array is read-only")
        return arrays

    def _input_array(self, array, code, stream):
        if isinstance(array, (numpy.ndarray, _Shape)):
            return array
        return self._foreign(array, stream) or numpy.asarray(array, _convert.numpy_dtype(code))

    def _foreign(self, array, stream):
        """An array of another library as an argument, or None. DLPack orders an array on a GPU before `stream`."""
        if isinstance(array, _device.DeviceArray):
            return array
        ordered = None if stream is None else _dlpack.borrowed(self, array, stream)
        return ordered or _device.DeviceArray.of(array) or _dlpack.borrowed(self, array)

    def _tensors(self, arrays, specs):
        tensors = (_library.Tensor * len(arrays))()
        for i, array in enumerate(arrays):
            if array is None:  # the library provides the memory
                tensors[i].struct_size = sizeof(_library.Tensor)
            else:
                try:
                    _describe(tensors, i, array, specs[i][1] if i < len(specs) else None)
                except struct.error:
                    raise _bad_shape(array, specs[i][0].name if i < len(specs) else i) from None
        return tensors

    def _planned(self, tensors, info=None):
        outputs = (_library.Tensor * len(self._outputs))()
        for tensor in outputs:
            tensor.struct_size = sizeof(_library.Tensor)
        check(self._library.tailor_executable_plan(self._handle, tensors, len(tensors), outputs, len(outputs),
                                                   info and byref(info)))
        return outputs

    def _output_arrays(self, inputs, tensors):
        """An array for each output: the donated input whose memory it is written to, or a new one; None if a dim is
        data-dependent."""
        out = []
        for tensor, spec in zip(self._planned(tensors), self.outputs):
            shape = tensor.dims[:tensor.rank]
            if spec.memory_of is not None:
                out.append(inputs[self._index[spec.memory_of]])
            else:
                out.append(None if -1 in shape else numpy.empty(shape, _convert.numpy_dtype(tensor.dtype)))
        return out


class Session:
    """Workspace and threads for one stream of runs. One call at a time: a concurrent call raises Error. Results never
    depend on `threads`."""

    def __init__(self, executable, threads, copy_strided, trace, parallel_for, stream=None, asynchronous=False,
                 host_outputs=True, cuda_graph=False):
        self.executable, self._copy_strided = executable, bool(copy_strided)
        self._library = _handles.Awaited(_library.runtime()) if trace or parallel_for else executable._library
        self._trace = _library.TraceFn(lambda user, launch, phase: trace(launch, phase)) if trace else _library.TraceFn()
        self._executor = _Executor(parallel_for) if parallel_for else None
        self._parallel_for = self._executor.function if parallel_for else _library.ParallelForFn()
        options = _library.SessionOptions(sizeof(_library.SessionOptions), threads, self._parallel_for, None,
                                          bool(copy_strided), 0, self._trace, None, stream, bool(asynchronous),
                                          bool(host_outputs), bool(cuda_graph))
        handle = _handles.Handle()
        check(self._library.tailor_session_create(executable._handle, byref(options), byref(handle)))
        self._handle, self._bound, self._runs = handle.own(_library.runtime().tailor_session_release), (), 0
        self._asynchronous, self._under_way = asynchronous, []  # the arrays of runs that may still read and write them
        self._one_call = threading.Lock()  # also while results are copied out of the session
        if asynchronous:
            _handles.outlives_the_interpreter(self)

    def run(self, *inputs, out=None, borrow=False, **named):
        """Runs once and returns the list of outputs. Inputs by position or name; arrays are passed without copies. A donated
        one is written; the output in its memory is that array.

        out: arrays to write to. borrow: give arrays over the session's own memory, valid until its next run.

        On a GPU, arrays in its memory (with __dlpack__ or __cuda_array_interface__) are read and written in place;
        others are copied. The session's stream waits for the producer of an input with __dlpack__, by that protocol.
        An output that the session provides on the GPU leaves it with its memory when its __dlpack__ is called. Arrays
        of asynchronous runs are kept until wait returns or poll says that they are done, sometimes until a later run,
        which then raises an error that the GPU found."""
        arrays, tensors = self.executable._input_tensors(inputs, named, self.stream, self._copy_strided)
        self._begin("tailor_session_run")
        try:
            self._runs += 1
            self._keep(arrays)
            if borrow:
                return self._run_borrowed(tensors)
            outputs = self.executable._output_arrays(arrays, tensors) if out is None else self.executable._writable(out, self.stream)
            self._keep(outputs)
            results = self.executable._tensors(outputs, self.executable._outputs)
            self._check(self._library.tailor_session_run(self._handle, tensors, len(arrays), results, len(outputs)))
            return [self._copied(i, result) if array is None else _given(array)
                    for i, (array, result) in enumerate(zip(outputs, results))]
        finally:
            self._one_call.release()

    def bind(self, inputs, outputs):
        """Fixes the arrays that every run_bound reads and writes."""
        arrays, tensors = self.executable._input_tensors(inputs, {}, self.stream)
        outputs = self.executable._writable(outputs, self.stream)
        results = self.executable._tensors(outputs, self.executable._outputs)
        self._begin("tailor_session_bind")
        try:
            check(self._library.tailor_session_bind(self._handle, tensors, len(arrays), results, len(outputs)))
            self._keep(self._bound)
            self._bound = arrays, outputs
        finally:
            self._one_call.release()

    def wait(self):
        """Returns when all runs are done; raises an error that the GPU found in runs that were not waited for."""
        self._call("tailor_session_wait")
        self._under_way.clear()

    def poll(self):
        """Whether all runs are done, without waiting. If they are, raises as wait does."""
        self._begin("tailor_session_poll")
        try:
            return self._poll()
        finally:
            self._one_call.release()

    def follow(self, event):
        """Later runs begin after the work before CUDA event `event` (its handle, a number)."""
        self._call("tailor_session_follow", address(event, "event"))

    def record(self, event):
        """Records CUDA event `event` (its handle, a number) after the runs so far."""
        self._call("tailor_session_record", address(event, "event"))

    @property
    def stream(self):
        """The handle of the session's CUDA stream, a number; None on the CPU."""
        return self._library.tailor_session_stream(self._handle)

    def run_bound(self):
        self._call("tailor_session_run_bound")

    def set_seed(self, seed):
        """The seed of the random operators of later runs, which are numbered from 0: equal seeds and numbers give equal
        results. Without it all runs of an executable have one seed, drawn from the system at load."""
        self._call("tailor_session_set_seed", checked(seed, "seed", ctypes.c_uint64))

    def reserve(self, *inputs, **named):
        """Grows the workspace to the size for inputs of these shapes (arrays or tuples), without running."""
        arrays, tensors = self.executable._input_tensors([_shaped(x) for x in inputs],
                                                         {k: _shaped(v) for k, v in named.items()})
        self._call("tailor_session_reserve", tensors, len(arrays))

    def _begin(self, function):
        """Begins a call of the session, whose end releases the lock. A concurrent call raises as the C function does."""
        if not self._one_call.acquire(blocking=False):
            raise Error("FAILED_PRECONDITION",
                        f"{function}: the session is in use by another call; a session runs one call at a time")

    def _call(self, function, *arguments):
        self._begin(function)
        try:
            self._check(getattr(self._library, function)(self._handle, *arguments))
        finally:
            self._one_call.release()

    def _poll(self):
        done = ctypes.c_int32()
        self._check(self._library.tailor_session_poll(self._handle, byref(done)))
        if done.value:
            self._under_way.clear()
        return bool(done.value)

    def _run_borrowed(self, tensors):
        results = (_library.Tensor * len(self.executable._outputs))()
        for tensor in results:
            tensor.struct_size = sizeof(_library.Tensor)
        self._check(self._library.tailor_session_run(self._handle, tensors, len(tensors), results, len(results)))
        return [self._view(i, tensor) for i, tensor in enumerate(results)]

    def _keep(self, arrays):
        """Keeps arrays alive until no run reads or writes them."""
        if self._asynchronous:
            if len(self._under_way) >= _MOST_KEPT:
                self._poll()
            self._under_way.append(arrays)

    def _check(self, status):
        failure = self._executor and self._executor.take_failure()
        check(status)
        if failure:
            raise failure

    def _copied(self, index, tensor):
        view = self._view(index, tensor)
        return view if isinstance(view, _device.DeviceArray) else view.copy()

    def _view(self, index, tensor):
        shape, dtype = tensor.dims[:tensor.rank], _convert.numpy_dtype(tensor.dtype)
        if tensor.device == _device.DEVICE_MEMORY:
            return _device.DeviceArray(tensor.data, shape, dtype, owner=self, ordinal=self.executable._ordinal,
                                       give=self._giver(index))
        if not tensor.data or 0 in shape:
            return numpy.empty(shape, dtype)
        count = int(numpy.prod(shape, dtype=numpy.int64))
        memory = (ctypes.c_char * (count * dtype.itemsize)).from_address(tensor.data)
        memory.session = self
        return numpy.frombuffer(memory, dtype).reshape(shape)

    def _giver(self, index):
        """The function that takes output `index` of this run out of the session."""
        run = self._runs

        def give(stream, versioned):
            if self._runs != run:
                raise BufferError("the array was valid until the session's next run")
            return _dlpack.capsule(self, index, stream, versioned)

        return give


class _Executor:
    """The caller's parallel_for as a C function."""

    def __init__(self, parallel_for):
        self._parallel_for, self._failure = parallel_for, None
        self.function = _library.ParallelForFn(self._run)

    def _run(self, user, task, data, count):
        calls = _Calls(task, data)
        try:
            self._parallel_for(calls.call, count)
        except BaseException as failure:  # must not unwind C code
            self._failure = failure
        calls.close()

    def take_failure(self):
        failure, self._failure = self._failure, None
        return failure


class _Calls:
    """Calls of one task; close() waits for them."""

    def __init__(self, task, data):
        self._task, self._data = task, data
        self._changed, self._inside, self._closed = threading.Condition(), 0, False

    def call(self, index):
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

    def close(self):
        with self._changed:
            self._closed = True
            self._changed.wait_for(lambda: self._inside == 0)


load = Executable.load

_MOST_KEPT = 64  # sets of arrays, before an asynchronous session polls whether its runs are done


class _Shape(tuple):
    """A shape in place of an array whose data is not read."""


def _functions(runtime):
    """The C functions for executables of a runtime."""
    return _library.runtime() if runtime is None else runtime._library


# The fields of _library.Tensor at once: setting them one by one takes longer than many a run.
_PACKED = struct.Struct(f"=QQQii{_library.MAX_RANK}qQq")
_ZEROS = (0,) * _library.MAX_RANK
assert _PACKED.size == sizeof(_library.Tensor)


def _shaped(array):
    return _Shape(array) if isinstance(array, (tuple, list)) else array


def _is_writeable(array):
    return array.flags.writeable if isinstance(array, numpy.ndarray) else array.writeable


def _has_places(array):
    """Whether each element lies where one of a dense array could."""
    return array.flags.aligned and not any(stride % array.itemsize for stride in array.strides)


def _reach(array):
    """Bytes from an array's lowest to the end of its highest element."""
    return sum(abs(stride) * (extent - 1) for extent, stride in zip(array.shape, array.strides)) + array.itemsize


def _bad_shape(array, name):
    """What is wrong with a shape that a C tensor does not hold."""
    for i, extent in enumerate(array if isinstance(array, _Shape) else array.shape):
        checked(extent, f"input {name!r} dim {i}")
    return ValueError(f"input {name!r} has an address or size beyond 64 bits")


def _no_array(output):
    raise TypeError(f"an output is a {type(output).__name__}, not an array to write to")


def _given(array):
    """What the caller knows an argument by."""
    return array.array if isinstance(array, _dlpack.Borrowed) else array


def _load_options(verify_constants, copy_constants, target, public_key, cost_profile, device):
    if public_key is not None and len(public_key) != 32:
        raise ValueError("public_key has 32 bytes")
    return _library.LoadOptions(sizeof(_library.LoadOptions), int(verify_constants), int(copy_constants),
                                None if target is None else target.encode(), public_key,
                                None if cost_profile is None else cost_profile.encode(),
                                0 if cost_profile is None else len(cost_profile.encode()), *_convert.device(device))


def _describe(tensors, index, array, code):
    """Fills one C tensor from an array or a shape; `code` is the element type that the signature has."""
    if isinstance(array, _dlpack.Borrowed):
        tensors[index] = array.tensor
        return
    shape = array if isinstance(array, _Shape) else array.shape
    rank = len(shape)
    if rank > _library.MAX_RANK:
        raise ValueError(f"rank {rank} is more than {_library.MAX_RANK}")
    data, size, device = 0, 0, _device.HOST_MEMORY
    if isinstance(array, _device.DeviceArray):
        code, contiguous = _convert.array_code(array, code), array.contiguous
        data, size, device = array.address, array.nbytes, _device.DEVICE_MEMORY
    elif array is not shape:
        code, contiguous = _convert.array_code(array, code), array.flags.c_contiguous
        data, size = array.__array_interface__["data"][0], array.nbytes if contiguous else _reach(array)
    _PACKED.pack_into(tensors, index * _PACKED.size, _PACKED.size, data, size, code or 0, rank,
                      *shape, *_ZEROS[rank:], 0, device)
    if array is not shape and not contiguous:
        if any(stride % array.itemsize for stride in array.strides):
            raise ValueError("strides are no multiples of the element size")
        tensors[index].strides = (ctypes.c_int64 * rank)(*(stride // array.itemsize for stride in array.strides))
