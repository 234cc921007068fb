"""Files as onnxruntime's optimizers and quantizers write them from those of tests/models/exported, with manifest.json.

    python rewritten.py [--list] [--source FOLDER] [--out FOLDER] [NAME...]

Needs the environment of requirements-classical.txt. A rewritten file has the inputs and shapes of its source."""
import argparse
import json
import logging
import pathlib
import sys

import numpy
import onnxruntime
from onnxruntime import quantization
from onnxruntime.transformers import optimizer

import manifest
from samples import sample

ROOT = pathlib.Path(__file__).resolve().parents[2]
EXPORTED = ROOT / "tests" / "models" / "exported"
CALIBRATED = 3  # shapes whose inputs calibrate a static quantization


def extended(source, path, entry):
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_ENABLE_EXTENDED
    options.optimized_model_filepath = str(path)
    onnxruntime.InferenceSession(str(source), options, providers=["CPUExecutionProvider"])


def fused(kind):
    """The script for transformers of one kind; it finds the sizes of the layer itself."""
    def rewrite(source, path, entry):
        optimizer.optimize_model(str(source), kind, num_heads=0, hidden_size=0, opt_level=0).save_model_to_file(str(path))
    return rewrite


def dynamic(source, path, entry):
    quantization.quantize_dynamic(str(source), str(path))


class Samples(quantization.CalibrationDataReader):
    def __init__(self, entry):
        self.rows = ({each["name"]: sample(each, sizes, numpy.random.default_rng(seed)) for each in entry["inputs"]}
                     for seed, sizes in enumerate(entry["shapes"][:CALIBRATED]))

    def get_next(self):
        return next(self.rows, None)


def static(form, **options):
    def rewrite(source, path, entry):
        quantization.quantize_static(str(source), str(path), Samples(entry), quant_format=form, **options)
    return rewrite


QDQ, QOPERATOR = quantization.QuantFormat.QDQ, quantization.QuantFormat.QOperator
U8, S8, U16 = quantization.QuantType.QUInt8, quantization.QuantType.QInt8, quantization.QuantType.QUInt16
qdq = static(QDQ)
qdq_channels = static(QDQ, per_channel=True, activation_type=U8, weight_type=S8)
qdq_16 = static(QDQ, activation_type=U16, weight_type=S8)
qoperator = static(QOPERATOR, activation_type=U8, weight_type=U8)

# onnxruntime's own fusions of QDQ round otherwise than the file says.
AS_WRITTEN = {"unoptimized": True}
# name: (source, what rewrites it, more keys of the manifest)
MODELS = {
    "densenet_extended": ("densenet_dynamo", extended, {}),
    "squeezenet_extended": ("squeezenet_dynamo", extended, {}),
    "vits_encoder_extended": ("vits_encoder_legacy", extended, {}),
    "whisper_encoder_extended": ("whisper_encoder_legacy", extended, {}),
    "bert_fused": ("bert_legacy", fused("bert"), {}),
    "gpt2_fused": ("gpt2_legacy", fused("gpt2"), {}),
    "clip_text_fused": ("clip_text_legacy", fused("clip"), {}),
    "t5_encoder_fused": ("t5_encoder_dynamo", fused("t5"), {}),
    "bert_dynamic": ("bert_legacy", dynamic, {}),
    "gpt2_dynamic": ("gpt2_dynamo", dynamic, {}),
    "vit_dynamic": ("vit_legacy", dynamic, {}),
    # Tailor does not quantize operands and states of DynamicQuantizeLSTM.
    "crnn_dynamic": ("crnn_legacy", dynamic, {"tolerance": 5e-3}),
    "resnet_qdq": ("resnet_legacy", qdq, AS_WRITTEN),
    "resnet_qdq_16": ("resnet_legacy", qdq_16, AS_WRITTEN),
    "squeezenet_qdq": ("squeezenet_dynamo", qdq, AS_WRITTEN),
    "vit_qdq": ("vit_dynamo", qdq, AS_WRITTEN),
    "whisper_qdq_channels": ("whisper_encoder_legacy", qdq_channels, AS_WRITTEN),
    "resnet_qoperator": ("resnet_legacy", qoperator, {}),
    "mnasnet_qoperator": ("mnasnet_dynamo", qoperator, {}),
    "efficientnet_qoperator": ("efficientnet_dynamo", qoperator, {}),
}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="NAME")
    parser.add_argument("--list", action="store_true", help="print the names of the files")
    parser.add_argument("--source", type=pathlib.Path, default=EXPORTED, help="folder of the files that are rewritten")
    parser.add_argument("--out", type=pathlib.Path, default=EXPORTED)
    arguments = parser.parse_args()
    if arguments.list:
        print("\n".join(MODELS))
        return 0
    if unknown := [name for name in arguments.names if name not in MODELS]:
        parser.error(f"no such file: {', '.join(unknown)}")
    logging.disable(logging.WARNING)
    onnxruntime.set_default_logger_severity(3)
    sources = json.loads((arguments.source / "manifest.json").read_text())
    arguments.out.mkdir(parents=True, exist_ok=True)
    for name in arguments.names or MODELS:
        source, rewrite, keys = MODELS[name]
        path, entry = arguments.out / f"{name}.onnx", sources[f"{source}.onnx"]
        rewrite(arguments.source / f"{source}.onnx", path, entry)
        manifest.add(arguments.out, path.name, entry | keys)
        print(f"{path.name}: {path.stat().st_size} bytes", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
