"""Mutated models that the loader accepts, drawn at random, against onnxruntime.

    python tests/conformance/accepted_mutants.py --mutator build/tests/onnx/mutated_models_test [--count 2000]
                                                 [--seed N] [--workers N] [--models FOLDER...] [--keep FOLDER]

Runs until so many are equal. Models that differ pass if onnx's own evaluator gives what Tailor gives. Those that onnx's
checker refuses have no meaning: where they differ, or only onnxruntime takes them, they are counted apart."""
import argparse
import collections
import datetime
import itertools
import os
import pathlib
import random
import shutil
import subprocess
import sys
import tempfile

import onnx

import run

SUITES = ("node", "light", "simple", "pytorch-converted", "pytorch-operator")
# What makes a run fail.
FAULTS = ("differs", "refused", "not run", "failed")
MUTATIONS, BATCH = 4000, 100  # of a round; models that a round compares at once


def suites():
    """onnx's own models."""
    data = pathlib.Path(onnx.__file__).parent / "backend" / "test" / "data"
    return [str(data / suite) for suite in SUITES]


def mutants(mutator, models, folder, seed):
    """The accepted ones of a round of mutations, in random order."""
    environment = {**os.environ, "TAILOR_MODELS": ":".join(models), "TAILOR_MUTATIONS": str(MUTATIONS),
                   "TAILOR_MUTATION_SEED": str(seed), "TAILOR_ACCEPTED": folder}
    subprocess.run([mutator, "--gtest_brief=1"], env=environment, check=True, stdout=subprocess.DEVNULL)
    paths = sorted(map(str, pathlib.Path(folder).iterdir()))
    random.Random(seed).shuffle(paths)
    return paths


def ended(results):
    """The results, of which those whose process ended say whether Tailor ends it."""
    out = []
    for result in results:
        if result["reason"].startswith("the process ended"):
            alone = run.Worker("run", run.HERE / "mutant.py")
            if alone.run(result["case"])["reason"].startswith("the process ended"):
                result = {**result, "reason": f"Tailor: {result['reason']}"}
            else:
                result = {**result, "status": "onnxruntime ends", "reason": ""}
            alone.close()
        out.append(result)
    return out


def drawn(options):
    """(name, result) of models at random, without end."""
    for seed in itertools.count(options.seed):
        with tempfile.TemporaryDirectory() as folder:
            paths = mutants(options.mutator, options.models, folder, seed)
            for start in range(0, len(paths), BATCH):
                batch = paths[start:start + BATCH]
                for result in ended(run.run_all(batch, "compare", options.workers, run.HERE / "mutant.py")):
                    yield f"{seed}-{pathlib.Path(result['case']).name}", result


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--mutator", required=True, help="the program mutated_models_test")
    parser.add_argument("--count", type=int, default=2000, help="models that are to be equal")
    parser.add_argument("--seed", type=int, default=datetime.date.today().toordinal())
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--models", nargs="+", default=suites(), help="folders of models to mutate; default: onnx's own")
    parser.add_argument("--keep", type=pathlib.Path, help="a folder for the models that are not equal")
    options = parser.parse_args()
    counts = collections.Counter()
    for name, result in drawn(options):
        status = result["status"]
        counts[status] += 1
        if status in FAULTS or (options.keep and status != "equal"):
            print(f"{name}: {status}: {' '.join(result['reason'].split())}", flush=True)
        if options.keep and status != "equal":
            options.keep.mkdir(exist_ok=True)
            shutil.copy(result["case"], options.keep / name)
        if counts["equal"] >= options.count:
            break
    print(f"from seed {options.seed}: " +
          ", ".join(f"{count} {status}" for status, count in counts.most_common()))
    sys.exit(any(counts[fault] for fault in FAULTS))


if __name__ == "__main__":
    main()
