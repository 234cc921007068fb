"""Lists of shapes: those of bench/data, and seeded streams."""
import csv
import math
import pathlib
import random

DATA = pathlib.Path(__file__).resolve().parents[1] / "data"


def rows_of(name):
    """The rows of a CSV file of bench/data; lines that begin with # are its comments."""
    with open(DATA / name) as file:
        return list(csv.DictReader(line for line in file if not line.startswith("#")))


def dot_shapes():
    """(M, K, N) of row-major matmuls x[M, K] w[K, N], from the file's column-major m, n, k."""
    return [(int(row["n"]), int(row["k"]), int(row["m"])) for row in rows_of("zen4_1thread_peers.csv")]


def drawn_dots(count, most_flops, most_numbers, seed=1):
    """(M, K, N), the same on every machine: a range of MikPoly's Table 3 with the odds of its number of cases, and in it
    each size log-uniform. Drawn again beyond most_flops, or where x, w and y have more than most_numbers elements."""
    ranges = [{name: int(value) for name, value in row.items()} for row in rows_of("mikpoly_gemm_ranges.csv")]
    draw, shapes = random.Random(seed), []

    def size(drawn, dim):
        low, high = drawn[f"{dim}_min"], drawn[f"{dim}_max"]
        return min(high, int(math.exp(draw.uniform(math.log(low), math.log(high + 1)))))
    while len(shapes) < count:
        drawn, = draw.choices(ranges, [each["cases"] for each in ranges])
        m, k, n = (size(drawn, dim) for dim in "mkn")
        if 2 * m * k * n <= most_flops and m * k + k * n + m * n <= most_numbers:
            shapes.append((m, k, n))
    return shapes


def conv_cases(most_batch):
    """The distinct convolutions of at most this batch, as requests to an engine."""
    cases = {}
    for row in rows_of("deepbench_conv.csv"):
        n, c, h, w, k = (int(row[name]) for name in "nchwk")
        spatial = {name: [int(row[f"{name}_h"]), int(row[f"{name}_w"])] for name in ("pad", "stride")}
        weights = [k, c, int(row["filter_h_r"]), int(row["filter_w_s"])]
        if n <= most_batch:
            case = {"op": "conv", "x": [n, c, h, w], "weights": weights, "strides": spatial["stride"],
                    "pads": spatial["pad"]}
            cases.setdefault(str(case), case)
    return list(cases.values())


def image_stream(count, most_batch=4, seed=1):
    """(batch, height, width), each drawn evenly; the same on every machine."""
    draw = random.Random(seed)
    return [(draw.randint(1, most_batch), draw.randint(96, 320), draw.randint(96, 320)) for _ in range(count)]


def encoder_stream(count, most_batch=8, most_length=512, seed=1):
    """(batch, length), each drawn evenly; the same on every machine."""
    draw = random.Random(seed)
    return [(draw.randint(1, most_batch), draw.randint(1, most_length)) for _ in range(count)]


def serving_requests(count, seed=1):
    """`count` requests to each of three models, shuffled; sizes are drawn evenly, the same on every machine."""
    draw = random.Random(seed)
    sizes = {("minilm", "encoder"): ((1, 4), (8, 128)), ("resnet18", "image"): ((1, 2), (96, 224), (96, 224)),
             ("crnn", "text_line"): ((1, 8), (200, 1600))}
    requests = [{"model": model, kind: [draw.randint(*bounds) for bounds in dims]}
                for (model, kind), dims in sizes.items() for _ in range(count)]
    draw.shuffle(requests)
    return requests
