"""The list of rows: a row absent from it does not exist."""
from ..figures import Row
from . import (choice, convolutions, dots, encoders, first_run, fixed_costs, images, in_cache, memory, mikpoly, models,
               nodes, serving, static_build, streaming, two_threads)

ROWS = [
    Row("cpu-1", "f32 matmuls of 32 rows and more, one thread: share of the multiply-add peak", dots.many_rows),
    Row("cpu-2", "f32 matmuls of up to 16 rows, one thread: share of the roofline", dots.few_rows),
    Row("cpu-3", "the worst of these matmuls: share of the roofline", dots.worst),
    Row("cpu-4", "bf16 matmuls against Tailor's f32 ones, compute-bound, one thread: speed-up", dots.bf16),
    Row("cpu-5", "choosing a tiling for new dim sizes: time, and regret of the choice", choice.choice),
    Row("cpu-6", "first run at a new shape over later runs, workspace reserved", first_run.first_run),
    Row("cpu-7", "row kernels in cache, one thread, against oneDNN", in_cache.row_kernels, alias="kernels"),
    Row("cpu-8", "chain of elementwise ops on tensors beyond the caches: share of a copy's speed", streaming.chain),
    Row("cpu-9", "encoders at random shapes against onnxruntime and OpenVINO: speed-up", encoders.random_stream),
    Row("cpu-10", "the same against torch.compile(dynamic=True): speed-up", encoders.torch_stream),
    Row("cpu-11", "an empty run, one more kernel, fork and join of two threads", fixed_costs.dispatch),
    Row("cpu-12", "large f32 matmuls on two threads: share of both threads' multiply-add peak", two_threads.dots),
    Row("cpu-13", "convolutions of DeepBench, batch up to 4, one thread, against oneDNN: speed-up",
        convolutions.deepbench),
    Row("cpu-14", "one build for all shapes against builds for one shape: speed", static_build.static_build),
    Row("cpu-15", "peak memory of a stream of 1,000 shapes over that of its largest shape", memory.stream),
    Row("fixed-costs", "loading and compiling", fixed_costs.load_and_compile),
    Row("dots", "f32 matmuls in cache, one thread: share of the multiply-add peak", dots.in_cache),
    Row("nodes", "single ONNX operators, one thread, against onnxruntime: speed-up", nodes.single_nodes),
    Row("encoder", "the sentence encoder at fixed shapes against onnxruntime: speed-up", encoders.fixed_shapes),
    Row("images", "ResNets at images of random sizes against onnxruntime and OpenVINO: speed-up", images.random_sizes),
    Row("models", "whole models against the better of onnxruntime and OpenVINO: speed-up", models.whole_models),
    Row("mikpoly", "f32 matmuls of MikPoly's ranges, one thread, against the best of OpenBLAS, oneDNN and MKL: speed-up",
        mikpoly.drawn),
    Row("serving", "eight callers, three models, mixed shapes, against onnxruntime and OpenVINO",
        serving.eight_callers),
]
