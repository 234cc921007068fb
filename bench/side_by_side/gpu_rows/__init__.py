"""The list of rows of ./dev gpu-check: a row absent from it does not exist."""
from ..figures import Row
from . import encoder, launches, products, row_kernels, suites

ROWS = [
    Row("gpu-1", "tests of the device, of every op and of matmuls on it", suites.device_tests),
    Row("gpu-2", "cases of the ONNX suite on the device", suites.onnx_cases),
    Row("gpu-3", "random graphs on the device against the reference", suites.random_graphs),
    Row("gpu-4", "bf16 matmuls of 4096 to 8192 against cuBLASLt: speed", products.large),
    Row("gpu-5", "bf16 matmuls of DeepBench against cuBLASLt's first heuristic: speed", products.deepbench),
    Row("gpu-6", "softmax: share of a copy's speed, and against PyTorch's", row_kernels.softmax),
    Row("gpu-7", "layer norm: share of a copy's speed, and against PyTorch's", row_kernels.layer_norm),
    Row("gpu-8", "sums of many short rows and of few long ones: share of a copy's speed", row_kernels.reduces),
    Row("gpu-9", "BERT-large in bf16 at random (B, S) against torch.compile(dynamic=True): speed-up",
        encoder.random_stream),
    Row("gpu-10", "host time of a launch, above the driver's own", launches.launches),
    Row("gpu-11", "launches of BERT-large's run: matmuls, attention, one for each memory-bound region",
        encoder.launches),
]
