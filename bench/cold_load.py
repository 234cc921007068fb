"""The first answer of a fresh process whose artifact is not in the page cache.

    cold_load.py [--runs N]

Needs TAILOR_LIBRARY_DIR, PYTHONPATH=bindings/python:bindings/python/examples, and openssl. Compiles the sentence encoder
(90 MB) with a signature. Each run is a process of its own that loads the artifact with libtailor_runtime.so and computes
one sentence of 7 tokens. Timed: from the load to the first output. Cold: the artifact's pages are dropped from the page
cache before the process starts (posix_fadvise); the library's pages are not. Signed: with a public key, so that constants
are hashed and copied. Cases are interleaved. Prints median, minimum and maximum in milliseconds of each case, and of
reading the cold file."""
import argparse
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time


def keys(folder):
    """(secret key of 64 bytes, public key of 32 bytes), Ed25519."""
    pem = folder / "key.pem"
    subprocess.run(["openssl", "genpkey", "-algorithm", "ED25519", "-out", pem], check=True)

    def der(*options):
        command = ["openssl", "pkey", "-in", pem, "-outform", "DER", *options]
        return subprocess.run(command, check=True, capture_output=True).stdout

    seed, public = der()[-32:], der("-pubout")[-32:]
    return seed + public, public


def first_answer(path, public_key):
    """Milliseconds from the load to the first output."""
    import numpy
    import tailor
    ids = numpy.full((1, 7), 101, numpy.int64)
    mask = numpy.ones((1, 7), numpy.int64)
    start = time.perf_counter()
    tailor.load(path, public_key=public_key).session(threads=1).run(ids, mask)
    return 1e3 * (time.perf_counter() - start)


def drop(path):
    """Removes the file's clean pages from the page cache."""
    file = os.open(path, os.O_RDONLY)
    os.fsync(file)
    os.posix_fadvise(file, 0, 0, os.POSIX_FADV_DONTNEED)
    os.close(file)


def read_cold(path):
    drop(path)
    start = time.perf_counter()
    with open(path, "rb", buffering=0) as file:
        while file.read(1 << 22):
            pass
    return 1e3 * (time.perf_counter() - start)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=11)
    parser.add_argument("--serve", nargs="+", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.serve:
        print(first_answer(options.serve[0], bytes.fromhex(options.serve[1]) if len(options.serve) > 1 else None))
        return
    from minilm import graph, weights
    with tempfile.TemporaryDirectory() as folder:
        secret, public = keys(pathlib.Path(folder))
        path = pathlib.Path(folder) / "encoder.tlr"
        path.write_bytes(graph.build(weights.load()[1]).compile_artifact(secret_key=secret))
        print(f"{path.stat().st_size / 1e6:.1f} MB")
        times = {}
        for _ in range(options.runs):
            for cold in (False, True):
                for signed in (False, True):
                    if cold:
                        drop(path)
                    key = [public.hex()] if signed else []
                    served = subprocess.run([sys.executable, "-B", __file__, "--serve", str(path), *key], check=True,
                                            capture_output=True, text=True)
                    kind = "signed: hashed and copied" if signed else "mapped, not verified"
                    times.setdefault(f"{'cold' if cold else 'warm'}, {kind}", []).append(float(served.stdout))
            times.setdefault("reading the cold file", []).append(read_cold(path))
    for name, values in times.items():
        print(f"{name}: {statistics.median(values):.1f} ms ({min(values):.1f} to {max(values):.1f})")


if __name__ == "__main__":
    main()
