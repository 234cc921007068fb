"""Writes the cases of the ONNX suite that Tailor runs in the form of node_cases.h, by gzip.

    python tests/conformance/export_cases.py FILE [--slice I/N]

Cases that run.py skips, or whose values are random numbers, are left out; their number is printed.
"""
import argparse
import gzip
import os
import pathlib
import sys

import numpy
import onnx

import cases
import worker
import tailor.onnx

NAMES = {"bool": "bool", "bfloat16": "bf16", "float16": "f16", "float32": "f32", "float64": "f64",
         **{f"{kind}int{bits}": f"{kind and 'u' or 'i'}{bits}" for kind in ("", "u") for bits in (8, 16, 32, 64)}}


def part(head, payload):
    return f"{head} {len(payload)}\n".encode() + payload + b"\n"


def tensor(head, array):
    array = numpy.asarray(cases.travelling(array), order="C")
    return part(f"{head} {NAMES[array.dtype.name]} [{','.join(map(str, array.shape))}]", array.tobytes())


def exported(name, directory, rtol, atol):
    """The case's bytes; None where run.py skips it or compares no values."""
    model = onnx.ModelProto.FromString(pathlib.Path(directory, "model.onnx").read_bytes())
    if cases.family(model) or cases.draws(name):
        return None
    inputs, wanted = cases.data(directory, model)
    try:
        graph, fixed = worker.load(model, inputs)
    except tailor.onnx.Unsupported:
        return None
    given = [value.name for value in model.graph.input if value.name in inputs and value.name not in fixed]
    names = [value.name for value in model.graph.output]
    parts = [f"case {name} {rtol!r} {atol!r}\n".encode(), part("graph", graph.text.encode()),
             part("model", model.SerializeToString())]
    parts += [tensor(f"fixed {key}", inputs[key]) for key in fixed]
    parts += [tensor("input", inputs[key]) for key in given]
    parts += [tensor(f"output {names.index(output)}", array) for output, array in wanted.items()]
    return b"".join(parts + [b"end\n"])


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("file", type=pathlib.Path)
    parser.add_argument("--slice", default="0/1", help="i/n: every n-th case from the i-th on")
    options = parser.parse_args()
    first, step = map(int, options.slice.split("/"))
    chosen = list(cases.find().items())[first::step]
    written = [exported(name, *case) for name, case in chosen]
    kept = [text for text in written if text is not None]
    temporary = options.file.with_name(options.file.name + ".new")
    temporary.write_bytes(gzip.compress(b"".join(kept), mtime=0))
    os.replace(temporary, options.file)
    print(f"{len(kept)} cases, {len(written) - len(kept)} skipped, {options.file.stat().st_size >> 10} KiB")


if __name__ == "__main__":
    sys.exit(main())
