"""Graph texts of models, the ONNX suite, regressions and random graphs, and hashes of their compilation: which artifacts a
change of the compiler leaves equal byte for byte, and which it changes.

    python tools/corpus.py texts FOLDER [--passes-test build/tests/fuzz/passes_test]
    python tools/corpus.py hashes FOLDER [--target T]... >FILE     (TAILOR_LIBRARY_DIR: the libraries; constants are zeros)
    python tools/corpus.py compare BEFORE AFTER

Run with the Python of .venv and PYTHONPATH=bindings/python. A line has the hashes of the artifact, the kernel plans, the
host programs, the schedules, and the assembly of CPU kernels and of host programs. All but the first are hashes of files
that TAILOR_DUMP writes.
"""
import argparse
import collections
import hashlib
import multiprocessing
import os
import pathlib
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent


def model_texts():
    sys.path.append(str(ROOT / "tests" / "models"))
    import registry
    import tailor.onnx
    for name, model in registry.MODELS.items():
        yield f"model_{name}", tailor.onnx.load(model.write()).text


def exported_texts():
    import tailor.onnx
    for file in sorted((ROOT / "tests" / "models" / "exported").glob("*.onnx")):
        yield f"exported_{file.stem}", tailor.onnx.load(file).text


def suite_texts():
    """Cases of the ONNX suite, as the conformance test imports them."""
    sys.path[:0] = [str(ROOT / "tests" / "conformance"), str(ROOT / "tests" / "support")]
    import cases
    import onnx
    import tailor.onnx
    import worker
    for name, (directory, _, _) in cases.find().items():
        model = onnx.ModelProto.FromString(pathlib.Path(directory, "model.onnx").read_bytes())
        if cases.family(model):
            continue
        try:
            graph, _ = worker.load(model, cases.data(directory, model)[0])
        except tailor.onnx.Unsupported:
            continue
        yield f"onnx_{name}", graph.text


def write_texts(folder, passes_test):
    folder.mkdir(parents=True, exist_ok=True)
    for file in (ROOT / "tests" / "fuzz" / "regressions").glob("*.txt"):
        (folder / f"regression_{file.name}").write_text(file.read_text())
    for texts in (model_texts, exported_texts, suite_texts):
        for name, text in texts():
            (folder / f"{name}.txt").write_text(text)
    environment = dict(os.environ, TAILOR_GRAPH_DUMP=str(folder))
    subprocess.run([passes_test, "--gtest_filter=*Reached*"], env=environment, check=True, stdout=subprocess.DEVNULL)
    print(f"{len(list(folder.iterdir()))} texts")


DUMPS = {"plans": "kernels.*.lowered.txt", "host": "host.*.lowered.txt", "schedules": "*.schedules.txt", "code": "*kernels.s.txt",
         "host_code": "*host.s.txt"}


def hash_of(arguments):
    file, targets = arguments
    import tailor
    with tempfile.TemporaryDirectory() as folder:
        os.environ["TAILOR_DUMP"] = folder
        try:
            artifact = tailor.Graph.parse(file.read_text()).compile_artifact(targets, threads=1)
        except tailor.Error as error:
            return f"{file.stem} {error.code}: {error.message}"
        parts = {"artifact": hashlib.sha256(artifact)}
        for part, pattern in DUMPS.items():
            parts[part] = hashlib.sha256()
            for dump in sorted(pathlib.Path(folder).glob(pattern)):
                parts[part].update(dump.name.encode() + dump.read_bytes())
    return " ".join([file.stem, *(f"{part}:{digest.hexdigest()[:32]}" for part, digest in parts.items())])


def print_hashes(folder, targets):
    files = [(file, targets) for file in sorted(folder.iterdir())]
    with multiprocessing.Pool(os.cpu_count()) as pool:
        for line in pool.imap(hash_of, files, chunksize=4):
            print(line, flush=True)


def compare(before, after):
    then, now = (dict(line.split(" ", 1) for line in file.read_text().splitlines()) for file in (before, after))
    changed = sorted(name for name in then.keys() | now.keys() if then.get(name) != now.get(name))
    parts = collections.Counter()
    for name in changed:
        old, new = then.get(name, "absent"), now.get(name, "absent")
        different = [a.split(":")[0] for a, b in zip(old.split(), new.split()) if a != b]
        if not (old.startswith("artifact:") and new.startswith("artifact:")):
            print(f"{name}: {old} -> {new}")
            different = ["outcome"]
        else:
            print(f"{name}: {' '.join(different)}")
        parts.update(different)
    print(f"{len(changed)} of {len(then)} differ", *(f"{part} {count}" for part, count in parts.items()), sep="; ")
    return 1 if changed else 0


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    texts = commands.add_parser("texts")
    texts.add_argument("folder", type=pathlib.Path)
    texts.add_argument("--passes-test", type=pathlib.Path, default=ROOT / "build" / "tests" / "fuzz" / "passes_test")
    hashes = commands.add_parser("hashes")
    hashes.add_argument("folder", type=pathlib.Path)
    hashes.add_argument("--target", action="append", default=[])
    comparison = commands.add_parser("compare")
    comparison.add_argument("before", type=pathlib.Path)
    comparison.add_argument("after", type=pathlib.Path)
    options = parser.parse_args()
    if options.command == "texts":
        write_texts(options.folder, options.passes_test)
    elif options.command == "hashes":
        print_hashes(options.folder, options.target or ["x86-64-v3"])
    else:
        sys.exit(compare(options.before, options.after))


if __name__ == "__main__":
    main()
