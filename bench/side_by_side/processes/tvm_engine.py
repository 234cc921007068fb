"""TVM (Relax) on the CPU by its default pipeline, without tuning."""
import onnx
import tvm
from tvm import relax
from tvm.relax.frontend.onnx import from_onnx

from . import programs
from ..cpu import compile_target


class Engine(programs.Engine):
    def __init__(self, model, threads):
        del threads  # TVM reads OMP_NUM_THREADS
        super().__init__(f"TVM {tvm.__version__}", model, compiled, tvm.runtime.tensor)


def compiled(model):
    cpu = compile_target()
    target = tvm.target.Target({"kind": "llvm", "mcpu": tvm.target.codegen.llvm_get_system_cpu() if cpu == "host" else cpu})
    function = relax.VirtualMachine(tvm.compile(from_onnx(onnx.load(model)), target), tvm.cpu())["main"]

    def run(*operands):
        results = function(*operands)
        return [result.numpy() for result in ([results] if isinstance(results, tvm.runtime.Tensor) else results)]
    return run
