"""The encoders that several engines run: one ONNX file each, and Tailor's artifacts of the same file."""
import os
import subprocess
import sys

from .engines import BENCH, PYTHON

BATCH, LENGTH = "B=1..64", "S=1..512"


class Models:
    """Made in `folder` when first asked for. Names: minilm, bert_base, one_layer (of minilm)."""

    def __init__(self, folder, build_dir):
        self._folder, self._build_dir = folder, build_dir

    def onnx(self, name):
        path = self._folder / f"{name}.onnx"
        if not path.exists():
            self._run(str(BENCH / "export_encoder.py"), str(path), "--model", name)
        return path

    def artifact(self, name, batch=BATCH, length=LENGTH, versions=None):
        """Compiled for this CPU; `batch` and `length` are ranges or numbers of the symbols, `versions` how many each
        kernel may have at most."""
        path = self._folder / f"{name}_{batch}_{length}_{versions}.tlr"
        if not path.exists():
            self._run("-m", "tailor", "compile", str(self.onnx(name)), "-o", str(path), "--target", "host",
                      "--dim", batch, "--dim", length, *(["--max-versions", str(versions)] if versions else []))
        return path

    def _run(self, *arguments):
        # Compiling stays out of this process, which only waits while others measure.
        environment = dict(os.environ, PYTHONPATH=str(PYTHON), TAILOR_LIBRARY_DIR=str(self._build_dir / "lib"))
        done = subprocess.run([sys.executable, *arguments], env=environment, capture_output=True, text=True,
                              check=False)
        if done.returncode != 0:
            raise RuntimeError(f"{' '.join(arguments)}: {done.stderr.strip()[-500:]}")
