"""Compiles one ONNX file to an artifact, and says what that cost.

    python -m side_by_side.processes.compile_model FILE.onnx OUT.tlr SPECIFICATION

The specification is JSON: {"targets": [..] (empty: all CPU levels), "dims": {name: integer or {"min": .., "max": ..}},
"fixed": {input: value}}, and may have "without" and "max_versions" as Graph.compile takes them. Prints {"seconds": from the
file to the artifact on disk, "peak": bytes}."""
import json
import sys
import time

import numpy
import tailor
import tailor.onnx

from .serve import memory


def main():
    model, out, specification = sys.argv[1], sys.argv[2], json.loads(sys.argv[3])
    dims = {name: tailor.symbol(name, **dim) if isinstance(dim, dict) else dim
            for name, dim in specification["dims"].items()}
    fixed = {name: numpy.asarray(value) for name, value in specification["fixed"].items()}
    begin = time.perf_counter()
    options = {name: specification[name] for name in ("without", "max_versions") if name in specification}
    tailor.onnx.load(model, dims, fixed).compile(specification["targets"], **options).save(out)
    print(json.dumps({"seconds": time.perf_counter() - begin, "peak": memory()["peak"]}))


if __name__ == "__main__":
    main()
