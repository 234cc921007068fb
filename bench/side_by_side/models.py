"""The models that engines run: one ONNX file each, and Tailor's artifacts of the same file."""
import os
import subprocess
import sys

from .cpu import compile_target
from .engines import BENCH, PYTHON

BATCH, LENGTH = "B=1..64", "S=1..512"
IMAGE = ("N=1..64", "H=32..1024", "W=32..1024")
TEXT_LINE = ("batch=1..64", "width=32..4096")


class Models:
    """Made in `folder` when first asked for. Names: the encoders minilm, bert_base and one_layer (of minilm), for
    images resnet18 and resnet50, and for lines of text crnn, convolutions before two LSTMs."""

    def __init__(self, folder, build_dir):
        self._folder, self._build_dir = folder, build_dir

    def onnx(self, name):
        if name == "crnn":
            return BENCH.parent / "tests" / "models" / "exported" / "crnn_dynamo.onnx"
        path = self._folder / f"{name}.onnx"
        if not path.exists():
            script = "export_resnet.py" if name.startswith("resnet") else "export_encoder.py"
            self._run(str(BENCH / script), str(path), "--model", name)
        return path

    def artifact(self, name, batch=BATCH, length=LENGTH, versions=None):
        """An encoder compiled for this CPU. `batch` and `length` are ranges or sizes of the symbols, `versions` the
        most versions of each kernel."""
        return self._compiled(name, (batch, length), versions)

    def image_artifact(self, name):
        return self._compiled(name, IMAGE)

    def text_line_artifact(self, name):
        return self._compiled(name, TEXT_LINE)

    def _compiled(self, name, dims, versions=None):
        path = self._folder / f"{'_'.join((name, *dims))}_{versions}.tlr"
        if not path.exists():
            symbols = [argument for dim in dims for argument in ("--dim", dim)]
            self._run("-m", "tailor", "compile", str(self.onnx(name)), "-o", str(path), "--target", compile_target(), *symbols,
                      *(["--max-versions", str(versions)] if versions else []))
        return path

    def _run(self, *arguments):
        # Compiling stays out of this process, which only waits while others measure.
        environment = dict(os.environ, PYTHONPATH=str(PYTHON), TAILOR_LIBRARY_DIR=str(self._build_dir / "lib"))
        done = subprocess.run([sys.executable, *arguments], env=environment, capture_output=True, text=True,
                              check=False)
        if done.returncode != 0:
            raise RuntimeError(f"{' '.join(arguments)}: {done.stderr.strip()[-500:]}")
