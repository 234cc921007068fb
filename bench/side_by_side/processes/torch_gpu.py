"""PyTorch's part of ./dev gpu-check: python -m side_by_side.processes.torch_gpu NAME..., a line of JSON for each.

Names, figures and inputs are those of tests/gpu/measure; times are the GPU's, by events. Nothing but PyTorch is needed. With
TAILOR_TORCH_DEVICE=cpu, which tests set, times are the host's and nothing is compiled.
"""
import json
import math
import os
import statistics
import sys
import time

import torch
from torch.nn import functional

DEVICE = os.environ.get("TAILOR_TORCH_DEVICE", "cuda")
TURNS, TURN_SECONDS, MOST_CALLS = 7, 0.02, 1000
CALLS_OF_GRAPH = 20
EPSILON = 1e-5
SIZES = {  # as tests/gpu/measure/encoder.cc has them
    "bert_large": {"layers": 24, "heads": 16, "hidden": 1024, "inner": 4096, "vocabulary": 30522, "positions": 512},
    "bert_tiny": {"layers": 1, "heads": 2, "hidden": 16, "inner": 32, "vocabulary": 100, "positions": 32},
}


class Weights:
    """The weights of bench/encoder.cc: number n of the stream is a function of n."""

    GOLDEN, FIRST, SECOND = -7046029254386353131, -4658895280553007687, -7723592293110705685

    def __init__(self, seed):
        self._drawn, self._seed = 0, seed

    def draw(self, shape, deviation, mean=0.0):
        count = math.prod(shape)
        z = torch.arange(1, count + 1, dtype=torch.int64, device=DEVICE) + self._drawn
        self._drawn += count
        z = z * self.GOLDEN + self._seed  # as splitmix64 steps; multiplication wraps
        z = (z ^ self._shifted(z, 30)) * self.FIRST
        z = (z ^ self._shifted(z, 27)) * self.SECOND
        unit = self._shifted(z ^ self._shifted(z, 31), 40).to(torch.float32) * 2.0**-24
        values = mean + torch.tensor(math.sqrt(3), dtype=torch.float32, device=DEVICE) * deviation * (2 * unit - 1)
        return values.reshape(shape).to(torch.bfloat16)

    @staticmethod
    def _shifted(z, bits):
        """A logical shift to the right."""
        return (z >> bits) & ((1 << (64 - bits)) - 1)

    def dense(self, outputs, inputs):
        return self.draw((outputs, inputs), 1 / math.sqrt(inputs)), self.draw((outputs,), 0.1)

    def norm(self, hidden):
        return self.draw((hidden,), 0.1, 1.0), self.draw((hidden,), 0.1)


class Encoder(torch.nn.Module):
    """ids, mask i64[B, S] -> embedding f32[B, hidden]: the graph of bench/encoder.cc."""

    def __init__(self, size):
        super().__init__()
        draw, hidden, inner = Weights(1), size["hidden"], size["inner"]
        self.heads, self.hidden = size["heads"], hidden
        self.words = draw.draw((size["vocabulary"], hidden), 1.0)
        self.positions = draw.draw((size["positions"], hidden), 0.5)
        self.first = draw.norm(hidden)
        self.layers = [(*(draw.dense(hidden, hidden) for _ in range(4)), draw.norm(hidden), draw.dense(inner, hidden),
                        draw.dense(hidden, inner), draw.norm(hidden)) for _ in range(size["layers"])]

    def norm(self, x, weights):
        return functional.layer_norm(x, (self.hidden,), *weights, 1e-12)

    def split(self, x):
        return x.unflatten(-1, (self.heads, self.hidden // self.heads)).transpose(1, 2)

    def forward(self, ids, mask):
        x = self.norm(functional.embedding(ids, self.words) + self.positions[:ids.shape[1]], self.first)
        bias = ((1 - mask.to(x.dtype)) * -1e9)[:, None, None, :]
        for query, key, value, attended, attended_norm, inner, outer, norm in self.layers:
            parts = (self.split(functional.linear(x, *part)) for part in (query, key, value))
            context = functional.scaled_dot_product_attention(*parts, attn_mask=bias).transpose(1, 2).flatten(2)
            x = self.norm(functional.linear(context, *attended) + x, attended_norm)
            x = self.norm(functional.linear(functional.gelu(functional.linear(x, *inner)), *outer) + x, norm)
        weight = mask.to(torch.float32)
        mean = (x.to(torch.float32) * weight[:, :, None]).sum(1) / weight.sum(1, keepdim=True).clamp(min=1e-9)
        return mean / torch.linalg.vector_norm(mean, dim=-1, keepdim=True).clamp(min=1e-12)


def seconds_of(times, run):
    if DEVICE == "cpu":
        begin = time.perf_counter()
        for _ in range(times):
            run()
        return (time.perf_counter() - begin) / times
    begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    torch.cuda.synchronize()
    begin.record()
    for _ in range(times):
        run()
    end.record()
    end.synchronize()
    return begin.elapsed_time(end) * 1e-3 / times


def captured(run):
    """(`run` several times as one CUDA graph, so that the host's part of a call counts little; how many times)."""
    if DEVICE == "cpu":
        return run, 1
    beside = torch.cuda.Stream()
    beside.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(beside):
        run()
    torch.cuda.current_stream().wait_stream(beside)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        for _ in range(CALLS_OF_GRAPH):
            run()
    return graph.replay, CALLS_OF_GRAPH


def median_seconds(run):
    seconds_of(1, run)
    calls = int(min(max(TURN_SECONDS / seconds_of(3, run), 3), MOST_CALLS))
    return statistics.median(seconds_of(calls, run) for _ in range(TURNS))


class Engine:
    def __init__(self):
        self._encoders = {}

    def encoder(self, kind):
        """Compiled once for all shapes."""
        if kind not in self._encoders:
            module = Encoder(SIZES[kind]).eval()
            self._encoders[kind] = module if DEVICE == "cpu" else torch.compile(module, dynamic=True)
        return self._encoders[kind]

    @torch.inference_mode()
    def measure(self, name):
        kind, dim_sizes = name.split("/")[:2]
        rows, columns = map(int, dim_sizes.split("x"))
        if kind in SIZES:
            size, count = SIZES[kind], rows * columns
            ids = ((1000 + torch.arange(count, device=DEVICE) * 7919) % size["vocabulary"]).reshape(rows, columns)
            mask, model = torch.ones_like(ids), self.encoder(kind)
            last = model(ids, mask)[-1, :64].tolist()
            return {"seconds": median_seconds(lambda: model(ids, mask)), **{f"y{i}": y for i, y in enumerate(last)}}
        x = torch.rand((rows, columns), device=DEVICE) * 2 - 1
        scale, bias = torch.rand((2, columns), device=DEVICE)
        run = {"softmax": lambda: torch.softmax(x, -1),
               "layer_norm": lambda: functional.layer_norm(x, (columns,), scale, bias, EPSILON)}[kind]
        repeated, times = captured(run)
        return {"seconds": median_seconds(repeated) / times}


def main():
    engine, peer = Engine(), f"PyTorch {torch.__version__.split('+')[0]}"
    for name in sys.argv[1:]:
        try:
            answer = {"name": name, "figures": engine.measure(name), "peer": peer}
        except Exception as error:  # noqa: BLE001 - reported to the client
            answer = {"name": name, "reason": f"{type(error).__name__}: {error}"}
        print(json.dumps(answer), flush=True)


if __name__ == "__main__":
    main()
