"""Text models of transformers."""
import transformers
from torch import nn

from catalog import Input, model, token_shapes
from weights import randomize

_VOCABULARY = 50


class _Hidden(nn.Module):
    def __init__(self, inner):
        super().__init__()
        self.inner = inner

    def forward(self, input_ids, attention_mask):
        return self.inner(input_ids=input_ids, attention_mask=attention_mask).last_hidden_state


class _Pooled(nn.Module):
    def __init__(self, inner):
        super().__init__()
        self.inner = inner

    def forward(self, input_ids, attention_mask, token_type_ids):
        found = self.inner(input_ids=input_ids, attention_mask=attention_mask, token_type_ids=token_type_ids)
        return found.last_hidden_state, found.pooler_output


class _T5Decoder(nn.Module):
    def __init__(self, inner):
        super().__init__()
        self.inner = inner

    def forward(self, input_ids, encoder_states, encoder_mask):
        decoded = self.inner.decoder(input_ids=input_ids, encoder_hidden_states=encoder_states,
                                     encoder_attention_mask=encoder_mask, use_cache=False)
        return self.inner.lm_head(decoded.last_hidden_state)


def _text(vocabulary):
    return [Input("input_ids", "int64", ("batch", "sequence"), vocabulary),
            Input("attention_mask", "int64", ("batch", "sequence"), "mask")]


@model("deberta", "batch sequence", (2, 12), token_shapes())
def deberta(width):
    shared = dict(relative_attention=True, pos_att_type=["p2c", "c2p"], share_att_key=True, norm_rel_ebd="layer_norm",
                  position_biased_input=False, max_relative_positions=-1, type_vocab_size=0)
    if width == "narrow":
        config = transformers.DebertaV2Config(vocab_size=_VOCABULARY, hidden_size=32, num_hidden_layers=2,
                                              num_attention_heads=2, intermediate_size=48, position_buckets=8,
                                              max_position_embeddings=64, **shared)
    else:  # deberta-v3-base
        config = transformers.DebertaV2Config(vocab_size=128100, hidden_size=768, num_hidden_layers=12,
                                              num_attention_heads=12, intermediate_size=3072, position_buckets=256,
                                              **shared)
    return randomize(_Hidden(transformers.DebertaV2Model(config))), _text(config.vocab_size)


def _typed_text(vocabulary):
    return [*_text(vocabulary), Input("token_type_ids", "int64", ("batch", "sequence"), 2)]


@model("bert", "batch sequence", (2, 12), token_shapes())
def bert(width):
    config = transformers.BertConfig()  # bert-base
    if width == "narrow":
        config = transformers.BertConfig(vocab_size=_VOCABULARY, hidden_size=32, num_hidden_layers=2,
                                         num_attention_heads=2, intermediate_size=48, max_position_embeddings=64)
    return randomize(_Pooled(transformers.BertModel(config))), _typed_text(config.vocab_size)


@model("albert", "batch sequence", (2, 12), token_shapes())
def albert(width):
    """Two layers of one set of weights."""
    if width == "narrow":
        config = transformers.AlbertConfig(vocab_size=_VOCABULARY, embedding_size=16, hidden_size=32,
                                           num_hidden_layers=2, num_attention_heads=2, intermediate_size=48,
                                           max_position_embeddings=64)
    else:  # albert-base-v2
        config = transformers.AlbertConfig(embedding_size=128, hidden_size=768, num_attention_heads=12,
                                           intermediate_size=3072)
    return randomize(_Pooled(transformers.AlbertModel(config))), _typed_text(config.vocab_size)


@model("convbert", "batch sequence", (2, 12), token_shapes())
def convbert(width):
    """Attention beside convolutions whose kernels depend on the tokens."""
    config = transformers.ConvBertConfig()  # convbert-base
    if width == "narrow":
        config = transformers.ConvBertConfig(vocab_size=_VOCABULARY, embedding_size=16, hidden_size=32,
                                             num_hidden_layers=2, num_attention_heads=2, intermediate_size=48,
                                             max_position_embeddings=64, conv_kernel_size=3)
    return randomize(_Hidden(transformers.ConvBertModel(config))), _text(config.vocab_size)


@model("xlnet", "batch sequence", (2, 12), token_shapes(), exporters=("legacy",))
def xlnet(width):
    config = transformers.XLNetConfig()  # xlnet-large
    if width == "narrow":
        config = transformers.XLNetConfig(vocab_size=_VOCABULARY, d_model=32, n_layer=2, n_head=2, d_inner=48)
    return randomize(_Hidden(transformers.XLNetModel(config))), _text(config.vocab_size)


class _Mixed(nn.Module):
    def __init__(self, inner):
        super().__init__()
        self.inner = inner

    def forward(self, input_ids):
        return self.inner(input_ids=input_ids).last_hidden_state


@model("fnet", "batch sequence", (2, 12), token_shapes(), exporters=("dynamo",))
def fnet(width):
    """Fourier transforms over tokens and channels instead of attention."""
    config = transformers.FNetConfig()  # fnet-base
    if width == "narrow":
        config = transformers.FNetConfig(vocab_size=_VOCABULARY, hidden_size=32, num_hidden_layers=2,
                                         intermediate_size=48, max_position_embeddings=64)
    return randomize(_Mixed(transformers.FNetModel(config))), _text(config.vocab_size)[:1]


def _t5_config(width):
    if width == "narrow":
        return transformers.T5Config(vocab_size=_VOCABULARY, d_model=32, d_kv=16, d_ff=48, num_layers=2, num_heads=2,
                                     relative_attention_num_buckets=8, relative_attention_max_distance=20)
    return transformers.T5Config()  # t5-small


@model("t5_encoder", "batch sequence", (2, 12), token_shapes())
def t5_encoder(width):
    config = _t5_config(width)
    return randomize(_Hidden(transformers.T5EncoderModel(config))), _text(config.vocab_size)


_TWO_LENGTHS = ((1, 1, 1), (1, 7, 3), (2, 2, 16), (2, 16, 2), (3, 5, 9), (1, 33, 40), (5, 17, 5), (4, 64, 50))


@model("t5_decoder", "batch sequence source", (2, 12, 9), _TWO_LENGTHS)
def t5_decoder(width):
    config = _t5_config(width)
    return randomize(_T5Decoder(transformers.T5ForConditionalGeneration(config))), [
        Input("input_ids", "int64", ("batch", "sequence"), config.vocab_size),
        Input("encoder_states", "float32", ("batch", "source", config.d_model)),
        Input("encoder_mask", "int64", ("batch", "source"), "mask")]
