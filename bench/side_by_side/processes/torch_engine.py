"""PyTorch: the encoder as a module with the ONNX file's weights, by torch.compile(dynamic=True)."""
import onnx
import torch
from onnx import numpy_helper
from torch.nn import functional

from .operands import tokens


class Encoder(torch.nn.Module):
    """ids, mask i64[B, S] -> embedding f32[B, hidden], as bench/export_encoder.py spells it."""

    def __init__(self, model):
        super().__init__()
        fields = {field.key: field.value for field in model.metadata_props}
        self.heads, self.layers, self.epsilon = int(fields["heads"]), int(fields["layers"]), float(fields["epsilon"])
        for tensor in model.graph.initializer:
            self.register_buffer(self._key(tensor.name), torch.from_numpy(numpy_helper.to_array(tensor).copy()))

    def _key(self, name):
        return name.replace(".", "/")

    def get(self, name):
        return getattr(self, self._key(name))

    def norm(self, x, name):
        scale, shift = self.get(f"{name}.weight"), self.get(f"{name}.bias")
        return functional.layer_norm(x, x.shape[-1:], scale, shift, self.epsilon)

    def dense(self, x, name):
        return x @ self.get(f"{name}.weight.T") + self.get(f"{name}.bias")

    def split(self, x):
        return x.unflatten(-1, (self.heads, x.shape[-1] // self.heads)).transpose(1, 2)

    def layer(self, x, layer, bias):
        query, key, value = (self.split(self.dense(x, f"{layer}.attention.self.{part}"))
                             for part in ("query", "key", "value"))
        context = functional.scaled_dot_product_attention(query, key, value, attn_mask=bias)
        attended = self.dense(context.transpose(1, 2).flatten(2), f"{layer}.attention.output.dense")
        x = self.norm(attended + x, f"{layer}.attention.output.LayerNorm")
        inner = functional.gelu(self.dense(x, f"{layer}.intermediate.dense"))
        return self.norm(self.dense(inner, f"{layer}.output.dense") + x, f"{layer}.output.LayerNorm")

    def forward(self, ids, mask):
        words = functional.embedding(ids, self.get("embeddings.word_embeddings.weight"))
        positions = self.get("embeddings.position_embeddings.weight")[:ids.shape[1]]
        x = self.norm(words + self.get("type0") + positions, "embeddings.LayerNorm")
        weight = mask.to(torch.float32)
        bias = ((1 - weight) * -10000)[:, None, None, :]
        for i in range(self.layers):
            x = self.layer(x, f"encoder.layer.{i}", bias)
        mean = (x * weight[:, :, None]).sum(1) / weight.sum(1, keepdim=True).clamp(min=1e-9)
        return mean / torch.linalg.vector_norm(mean, dim=-1, keepdim=True).clamp(min=1e-12)


class Engine:
    def __init__(self, model, threads):
        self.name = f"PyTorch {torch.__version__.split('+')[0]} compiled"
        torch.set_num_threads(threads)
        self._run = torch.compile(Encoder(onnx.load(model)).eval(), dynamic=True)

    def prepare(self, case):
        ids, mask = (torch.from_numpy(array) for array in tokens(*case["encoder"]))

        @torch.inference_mode()
        def run():
            return self._run(ids, mask).numpy()
        return run
