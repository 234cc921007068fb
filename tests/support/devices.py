"""Where the tests in Python run what they compile: TAILOR_TEST_DEVICE, as tests/support/device.h has it."""
import os
import pathlib

# (target, device) by name: the CPU, the same with `optimize` = 0, the first GPU, and a driver and an emulator that play
# one. Other names are CPU targets.
DEVICES = {"cpu": ("host", "cpu"), "unoptimized": ("host", "cpu"), "cuda": ("cuda", "cuda"), "emulated": ("simt", "cuda")}


def compiled(graph):
    """The graph, ready to run there."""
    name = os.environ.get("TAILOR_TEST_DEVICE", "cpu")
    if name == "emulated":  # its driver lies beside the libraries under test
        driver = pathlib.Path(os.environ["TAILOR_LIBRARY_DIR"]).parent / "tests/emulator/libtailor_fake_cuda.so"
        os.environ.setdefault("TAILOR_CUDA_DRIVER", str(driver))
    target, device = DEVICES.get(name, (name, "cpu"))
    return graph.compile(target, device=device, optimize=int(name != "unoptimized"))
