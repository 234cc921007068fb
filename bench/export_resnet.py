"""Exports a ResNet with drawn weights to ONNX: x f32[N, 3, H, W] -> f32[N, 1000], N, H and W dynamic.

    export_resnet.py FILE [--model resnet18|resnet50]

Normalisations are part of the weights and biases, as exporters leave them after folding.
"""
import argparse

import numpy
import onnx
from onnx import TensorProto, helper, numpy_helper

OPSET = 17
CLASSES = 1000
STEM = 64
STAGES = {"resnet18": [(64, 2), (128, 2), (256, 2), (512, 2)], "resnet50": [(64, 3), (128, 4), (256, 6), (512, 3)]}
EXPANSION = {"resnet18": 1, "resnet50": 4}


class OnnxResnet:
    """Nodes and initializers, appended in order."""

    def __init__(self, model):
        self.bottleneck = EXPANSION[model] > 1
        self.nodes, self.initializers, self._random = [], [], numpy.random.default_rng(1)
        x = self.conv("x", 3, STEM, 7, 2)
        x = self.node("MaxPool", [x], kernel_shape=[3, 3], strides=[2, 2], pads=[1] * 4)
        channels = STEM
        for number, (width, blocks) in enumerate(STAGES[model]):
            for block in range(blocks):
                stride = 2 if number > 0 and block == 0 else 1
                x = self.block(x, channels, width, width * EXPANSION[model], stride)
                channels = width * EXPANSION[model]
        x = self.node("Flatten", [self.node("GlobalAveragePool", [x])])
        weights = self.drawn("w", (channels, CLASSES), channels**-0.5), self.drawn("b", (CLASSES,), 0.1)
        self.nodes.append(helper.make_node("Gemm", [x, *weights], ["y"]))

    def node(self, op, inputs, **attributes):
        name = f"v{len(self.nodes)}"
        self.nodes.append(helper.make_node(op, inputs, [name], **attributes))
        return name

    def drawn(self, kind, shape, scale):
        array = (self._random.standard_normal(shape) * scale).astype(numpy.float32)
        self.initializers.append(numpy_helper.from_array(array, f"{kind}{len(self.initializers)}"))
        return self.initializers[-1].name

    def conv(self, x, channels, results, size, stride, active=True):
        weights = self.drawn("w", (results, channels, size, size), (2 / (channels * size * size))**0.5)
        out = self.node("Conv", [x, weights, self.drawn("b", (results,), 0.1)], kernel_shape=[size, size],
                        strides=[stride, stride], pads=[size // 2] * 4)
        return self.node("Relu", [out]) if active else out

    def block(self, x, channels, width, results, stride):
        if self.bottleneck:
            y = self.conv(x, channels, width, 1, 1)
            y = self.conv(y, width, width, 3, stride)
            y = self.conv(y, width, results, 1, 1, active=False)
        else:
            y = self.conv(x, channels, width, 3, stride)
            y = self.conv(y, width, results, 3, 1, active=False)
        if stride > 1 or channels != results:
            x = self.conv(x, channels, results, 1, stride, active=False)
        return self.node("Relu", [self.node("Add", [y, x])])

    def model(self):
        graph = helper.make_graph(
            self.nodes, "resnet", [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["N", 3, "H", "W"])],
            [helper.make_tensor_value_info("y", TensorProto.FLOAT, ["N", CLASSES])], self.initializers)
        return helper.make_model(graph, ir_version=8, opset_imports=[helper.make_opsetid("", OPSET)])


def main():
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("file", metavar="FILE")
    arguments.add_argument("--model", choices=STAGES, default="resnet18")
    arguments = arguments.parse_args()
    model = OnnxResnet(arguments.model).model()
    onnx.checker.check_model(model)
    onnx.save(model, arguments.file)


if __name__ == "__main__":
    main()
