"""IREE on the CPU.

Its tools have their default options: of dynamic layer norms, --iree-opt-level=O2 and O3 make some run five times as long, and
refuse others, as those of BERT.
"""
import importlib.metadata
import pathlib
import re
import subprocess
import sys
import tempfile

import numpy
from iree import runtime

from . import programs
from ..cpu import compile_target
from ..engines import OPENING

TOOLS = pathlib.Path(sys.executable).parent
LIMIT = OPENING / 2  # seconds of a tool, so that none outlives this process
DEVICE = "local-sync"  # runs on the thread that calls


class Engine(programs.Engine):
    def __init__(self, model, threads):
        del threads
        self._config = runtime.Config(DEVICE)
        super().__init__(f"IREE {importlib.metadata.version('iree-base-compiler')}", model, self._loaded,
                         lambda array: runtime.asdevicearray(self._config.device, array))

    def _loaded(self, model):
        program = runtime.VmModule.copy_buffer(self._config.vm_instance, compiled(model))
        name = next(name for name in program.function_names if "$" not in name and not name.startswith("__"))
        function = runtime.load_vm_module(program, self._config)[name]

        def run(*operands):
            results = function(*operands)
            return [numpy.asarray(result) for result in (results if isinstance(results, tuple) else (results,))]
        return run


def compiled(model):
    """The bytes of the program."""
    with tempfile.TemporaryDirectory() as folder:
        imported, program = pathlib.Path(folder) / "model.mlir", pathlib.Path(folder) / "model.vmfb"
        tool("iree-import-onnx", model, "-o", imported)
        tool("iree-compile", imported, "-o", program, "--iree-hal-target-device=local",
             "--iree-hal-local-target-device-backends=llvm-cpu", f"--iree-llvmcpu-target-cpu={compile_target()}")
        return program.read_bytes()


def tool(name, *arguments):
    done = subprocess.run([TOOLS / name, *map(str, arguments)], capture_output=True, text=True, timeout=LIMIT, check=False)
    if done.returncode != 0:
        op = re.findall("onnx[.][A-Z][A-Za-z]+", done.stderr)[:1]
        error = [*re.findall("error: (.*)", done.stderr), *done.stderr.splitlines()[-1:], f"status {done.returncode}"][0]
        raise RuntimeError(" ".join([name, *op, error]))
