"""Every model: how it is written, and the 8 shapes it is run at."""
import dataclasses
import typing

import numpy as np
from onnx import TensorProto

import bert
import gpt2
import recurrent
import speech
import t5
import vision


@dataclasses.dataclass(frozen=True)
class Model:
    """`shapes` gives the dim_params' values; `below` bounds integer inputs by name, where 2 is not the bound."""
    write: typing.Callable
    dims: tuple
    shapes: tuple
    below: dict = dataclasses.field(default_factory=dict)

    def bindings(self):
        return [dict(zip(self.dims, shape)) for shape in self.shapes]


_TEXT = ((1, 1), (1, 7), (2, 1), (2, 16), (3, 5), (1, 33), (5, 17), (8, 64))
_BERT_DIMS = ("batch_size", "sequence_length")
_STEPS = ((1, 0, 1), (1, 1, 1), (2, 0, 5), (1, 7, 1), (3, 4, 3), (2, 31, 2), (4, 16, 1), (1, 33, 8))

MODELS = {
    "bert_2": Model(lambda: bert.bert(2), _BERT_DIMS, _TEXT, {"input_ids": bert.VOCABULARY}),
    "bert_12": Model(lambda: bert.bert(12), _BERT_DIMS, _TEXT, {"input_ids": bert.VOCABULARY}),
    "albert": Model(bert.albert, _BERT_DIMS, _TEXT, {"input_ids": bert.VOCABULARY}),
    "gpt2": Model(gpt2.gpt2, ("batch_size", "past_sequence_length", "sequence_length", "total_sequence_length"),
                  tuple((*step, step[1] + step[2]) for step in _STEPS), {"input_ids": gpt2.VOCABULARY}),
    "t5_encoder": Model(t5.encoder, ("batch", "encoder_sequence"), _TEXT, {"input_ids": t5.VOCABULARY}),
    "t5_decoder_step": Model(t5.decoder_step, ("batch", "past_decoder_sequence", "encoder_sequence"),
                             ((1, 1, 1), (1, 0, 1), (2, 0, 5), (1, 7, 9), (3, 4, 1), (2, 31, 17), (4, 16, 3),
                              (1, 33, 40)), {"input_ids": t5.VOCABULARY}),
    "vit": Model(vision.vit, ("batch", "height", "width"),
                 ((1, 4, 4), (1, 16, 16), (2, 20, 12), (1, 7, 9), (3, 4, 33), (2, 32, 32), (5, 18, 5), (1, 40, 8))),
    "resnet": Model(vision.resnet, ("batch", "height", "width"),
                    ((1, 1, 1), (1, 32, 32), (2, 17, 5), (1, 7, 40), (3, 33, 33), (2, 1, 16), (5, 10, 10),
                     (1, 64, 48))),
    "speech": Model(speech.speech_encoder, ("batch", "samples"),
                    ((1, 40), (1, 400), (2, 60), (1, 123), (3, 77), (2, 1000), (5, 41), (4, 256))),
    "crnn": Model(recurrent.crnn, ("batch", "width"),
                  ((1, 4), (1, 32), (2, 20), (3, 37), (1, 100), (5, 8), (2, 255), (8, 64))),
    "dien": Model(recurrent.dien, ("batch", "behaviours"),
                  ((1, 1), (1, 7), (2, 1), (3, 5), (8, 12), (1, 33), (5, 17), (16, 50)),
                  {"user": recurrent.USERS, "item": recurrent.ITEMS, "past_items": recurrent.ITEMS,
                   "category": recurrent.CATEGORIES, "past_categories": recurrent.CATEGORIES}),
}


def inputs(proto, model, binding, seed):
    """An array for every input of a model at one shape; attention masks let the first place be seen."""
    rng, arrays = np.random.default_rng(seed), {}
    for value in proto.graph.input:
        tensor = value.type.tensor_type
        shape = [dim.dim_value if dim.HasField("dim_value") else binding[dim.dim_param] for dim in tensor.shape.dim]
        if tensor.elem_type == TensorProto.FLOAT:
            arrays[value.name] = rng.standard_normal(shape, np.float32)
            continue
        arrays[value.name] = rng.integers(0, model.below.get(value.name, 2), shape)
        if value.name.endswith("attention_mask"):
            arrays[value.name][:, 0] = 1
    return arrays
