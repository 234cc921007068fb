"""Runs a sentence encoder: encoder.py ARTIFACT INPUTS OUTPUTS. INPUTS has i64 numbers: B, S, ids[B, S], mask[B, S] of one
batch after the other. Prints the milliseconds until the artifact is loaded and until the first result."""
from __future__ import annotations

import sys
import time

import numpy

import tailor


def main(artifact: str, inputs: str, outputs: str) -> None:
    numbers = numpy.fromfile(inputs, numpy.int64)
    begin = time.perf_counter()
    session = tailor.load(artifact).session()
    loaded = time.perf_counter() - begin
    first = None
    with open(outputs, "wb") as out:
        while len(numbers):
            (batch, length), numbers = numbers[:2], numbers[2:]
            ids, mask = numbers[:2 * batch * length].reshape(2, batch, length)
            embedding, = session.run(ids, mask)
            first = first or time.perf_counter() - begin
            out.write(embedding.tobytes())
            numbers = numbers[2 * batch * length:]
    print(f"{loaded * 1e3:.2f} {(first or 0) * 1e3:.2f}")


if __name__ == "__main__":
    main(*sys.argv[1:])
