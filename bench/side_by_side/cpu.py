"""The CPU level that ./dev bench --cpu measures: this machine's, or AVX2 on a machine that has more."""
import dataclasses
import os

NAMES = ("host", "avx2")
AVX2_TARGET = "x86-64-v3"
TARGET_VARIABLE = "TAILOR_BENCH_TARGET"  # read by tailor-bench and by the processes that compile
AVX2_PEERS = {"ONEDNN_MAX_CPU_ISA": "AVX2", "OPENBLAS_CORETYPE": "Haswell", "MKL_ENABLE_INSTRUCTIONS": "AVX2",
              "XLA_FLAGS": "--xla_cpu_max_isa=AVX2"}
FREE_PEERS = ("onnxruntime", "openvino", "torch")  # no variable holds them to a level


@dataclasses.dataclass(frozen=True)
class Cpu:
    """`held`: everything runs with AVX2 on a machine with AVX-512. `wide`: what runs has AVX-512."""
    wide: bool
    held: bool

    @property
    def target(self):
        """What Tailor compiles for."""
        return AVX2_TARGET if self.held else "host"

    def environment(self, inherited):
        """`inherited` without choices of kernels that were made for other programs, and with those that hold peers."""
        kept = {name: value for name, value in inherited.items()
                if not name.startswith("OPENBLAS_") and name not in (*AVX2_PEERS, TARGET_VARIABLE)}
        return {**kept, **({TARGET_VARIABLE: AVX2_TARGET, **AVX2_PEERS} if self.held else {})}


def has_avx512():
    return any(line.startswith("flags") and "avx512f" in line.split() for line in open("/proc/cpuinfo"))


def chosen(name, avx512):
    """The Cpu of --cpu `name` on a machine with or without AVX-512."""
    held = name == "avx2" and avx512
    return Cpu(wide=avx512 and not held, held=held)


def compile_target():
    """In a process that the bench started: what Tailor compiles for."""
    return os.environ.get(TARGET_VARIABLE, "host")
