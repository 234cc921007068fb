"""The two towers of CLIP."""
import transformers
from torch import nn

from catalog import Input, image, image_shapes, model, token_shapes
from weights import randomize

_VOCABULARY = 50


class _TextTower(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.inner = transformers.CLIPTextModelWithProjection(config)

    def forward(self, input_ids, attention_mask):
        return self.inner(input_ids=input_ids, attention_mask=attention_mask).text_embeds


@model("clip_text", "batch sequence", (2, 12), token_shapes())
def clip_text(width):
    """The embedding is that of the first end token."""
    config = transformers.CLIPTextConfig()
    if width == "narrow":
        config = transformers.CLIPTextConfig(vocab_size=_VOCABULARY, hidden_size=32, intermediate_size=48,
                                             projection_dim=16, num_hidden_layers=2, num_attention_heads=2,
                                             max_position_embeddings=64, bos_token_id=0, eos_token_id=_VOCABULARY - 1)
    return randomize(_TextTower(config)), [Input("input_ids", "int64", ("batch", "sequence"), config.vocab_size),
                                           Input("attention_mask", "int64", ("batch", "sequence"), "mask")]


class _ImageTower(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.inner = transformers.CLIPVisionModelWithProjection(config)

    def forward(self, image):
        return self.inner(image, interpolate_pos_encoding=True).image_embeds


@model("clip_image", "batch height width", (2, 64, 96), image_shapes(33))
def clip_image(width):
    config = transformers.CLIPVisionConfig()
    if width == "narrow":
        config = transformers.CLIPVisionConfig(hidden_size=32, intermediate_size=48, projection_dim=16,
                                               num_hidden_layers=2, num_attention_heads=2, image_size=40, patch_size=8)
    return randomize(_ImageTower(config)), [image()]
