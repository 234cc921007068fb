"""Speech models of transformers."""
import contextlib
from unittest import mock

import torch
import transformers
from torch import nn

from catalog import Input, model, token_shapes
from weights import randomize

_VOCABULARY = 50
_TWO_LENGTHS = ((1, 1, 1), (1, 7, 3), (2, 2, 16), (2, 16, 2), (3, 5, 9), (1, 33, 40), (5, 17, 5), (4, 30, 50))
_SAMPLES = ((1, 400), (1, 1027), (2, 720), (3, 1999), (5, 801), (1, 4000), (2, 3333), (4, 8000))


def _tokens(config):
    return [Input("input_ids", "int64", ("batch", "sequence"), config.vocab_size),
            Input("attention_mask", "int64", ("batch", "sequence"), "mask")]


class _Encoder(nn.Module):
    def __init__(self, inner):
        super().__init__()
        self.inner = inner

    def forward(self, features):
        return self.inner(features).last_hidden_state


class _MaskedEncoder(nn.Module):
    def __init__(self, inner):
        super().__init__()
        self.inner = inner

    def forward(self, features, mask):
        return self.inner(features, attention_mask=mask).last_hidden_state


class _Decoder(nn.Module):
    def __init__(self, inner):
        super().__init__()
        self.inner = inner

    def forward(self, input_ids, attention_mask, encoder_states):
        return self.inner(input_ids=input_ids, attention_mask=attention_mask, encoder_hidden_states=encoder_states,
                          use_cache=False).last_hidden_state


def _whisper_config(width):
    if width == "narrow":
        return transformers.WhisperConfig(vocab_size=_VOCABULARY, num_mel_bins=8, d_model=32, encoder_layers=2,
                                          decoder_layers=2, encoder_attention_heads=2, decoder_attention_heads=2,
                                          encoder_ffn_dim=48, decoder_ffn_dim=48, max_source_positions=50,
                                          max_target_positions=40, pad_token_id=0, bos_token_id=1, eos_token_id=2,
                                          decoder_start_token_id=1)
    return transformers.WhisperConfig()  # whisper-tiny


@model("whisper_encoder", "batch", (2,), tuple((batch,) for batch in range(1, 9)))
def whisper_encoder(width):
    """The number of frames is fixed: the model refuses any other."""
    config = _whisper_config(width)
    frames = Input("features", "float32", ("batch", config.num_mel_bins, 2 * config.max_source_positions))
    return randomize(_Encoder(transformers.WhisperModel(config).encoder)), [frames]


@model("whisper_decoder", "batch sequence source", (2, 12, 9), _TWO_LENGTHS)
def whisper_decoder(width):
    config = _whisper_config(width)
    return randomize(_Decoder(transformers.WhisperModel(config).decoder)), [
        *_tokens(config), Input("encoder_states", "float32", ("batch", "source", config.d_model))]


_NARROW_WAVES = dict(hidden_size=32, num_hidden_layers=2, num_attention_heads=2, intermediate_size=48,
                     conv_dim=(8, 8, 8, 8, 8, 8, 8), num_conv_pos_embeddings=16, num_conv_pos_embedding_groups=4)
_WAVE = Input("features", "float32", ("batch", "samples"))
_WAVE_MASK = Input("mask", "int64", ("batch", "samples"), "ones")


@model("wav2vec2", "batch samples", (2, 2000), _SAMPLES)
def wav2vec2(width):
    """wav2vec2-base, which takes no mask."""
    config = transformers.Wav2Vec2Config(**(_NARROW_WAVES if width == "narrow" else {}))
    return randomize(_Encoder(transformers.Wav2Vec2Model(config))), [_WAVE]


@model("wav2vec2_masked", "batch samples", (2, 2000), _SAMPLES)
def wav2vec2_masked(width):
    """The form of wav2vec2-large-lv60: layer normalization first, and a mask of samples."""
    shared = dict(feat_extract_norm="layer", do_stable_layer_norm=True, conv_bias=True)
    if width == "real":
        shared.update(hidden_size=1024, num_hidden_layers=24, num_attention_heads=16, intermediate_size=4096)
    config = transformers.Wav2Vec2Config(**shared, **(_NARROW_WAVES if width == "narrow" else {}))
    return randomize(_MaskedEncoder(transformers.Wav2Vec2Model(config))), [_WAVE, _WAVE_MASK]


@model("conformer", "batch samples", (2, 2000), _SAMPLES)
def conformer(width):
    """wav2vec2-conformer with relative positions."""
    narrow = dict(_NARROW_WAVES, conv_depthwise_kernel_size=7, max_source_positions=100)
    config = transformers.Wav2Vec2ConformerConfig(feat_extract_norm="layer", do_stable_layer_norm=True, conv_bias=True,
                                                  **(narrow if width == "narrow" else {}))
    return randomize(_Encoder(transformers.Wav2Vec2ConformerModel(config))), [_WAVE]


def _vits_config(width):
    if width == "narrow":
        return transformers.VitsConfig(vocab_size=_VOCABULARY, hidden_size=16, num_hidden_layers=2,
                                       num_attention_heads=2, ffn_dim=24, flow_size=16, spectrogram_bins=9,
                                       upsample_initial_channel=16, upsample_rates=[4, 2], upsample_kernel_sizes=[8, 4],
                                       resblock_kernel_sizes=[3, 5], resblock_dilation_sizes=[[1, 3], [1, 3]],
                                       prior_encoder_num_wavenet_layers=2, prior_encoder_num_flows=2,
                                       duration_predictor_num_flows=2, duration_predictor_filter_channels=16,
                                       depth_separable_num_layers=2)
    return transformers.VitsConfig()


class _VitsEncoder(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.inner = transformers.VitsModel(config).text_encoder

    def forward(self, input_ids, attention_mask):
        padding = attention_mask.unsqueeze(-1).float()
        found = self.inner(input_ids=input_ids, padding_mask=padding, attention_mask=attention_mask)
        return found.last_hidden_state, found.prior_means, found.prior_log_variances


@model("vits_encoder", "batch sequence", (2, 12), token_shapes())
def vits_encoder(width):
    config = _vits_config(width)
    return randomize(_VitsEncoder(config)), _tokens(config)


class _Vits(nn.Module):
    """VITS without noise: random numbers are zeros."""
    def __init__(self, config):
        super().__init__()
        self.inner = transformers.VitsModel(config)

    def forward(self, input_ids, attention_mask):
        with contextlib.ExitStack() as patches:
            patches.enter_context(mock.patch.object(torch, "randn", torch.zeros))
            patches.enter_context(mock.patch.object(torch, "randn_like", torch.zeros_like))
            found = self.inner(input_ids=input_ids, attention_mask=attention_mask)
        return found.waveform, found.sequence_lengths


@model("vits", "batch sequence", (2, 12), token_shapes(), exporters=("legacy",))
def vits(width):
    config = _vits_config(width)
    return randomize(_Vits(config)), _tokens(config)


class _HifiGan(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.inner = transformers.SpeechT5HifiGan(config)

    def forward(self, spectrogram):
        return self.inner(spectrogram)


@model("hifigan", "batch frames", (2, 20), ((1, 1), (1, 7), (2, 2), (2, 16), (3, 5), (1, 33), (5, 17), (2, 100)))
def hifigan(width):
    if width == "narrow":
        config = transformers.SpeechT5HifiGanConfig(model_in_dim=8, upsample_initial_channel=32, upsample_rates=[4, 4],
                                                    upsample_kernel_sizes=[8, 8], resblock_kernel_sizes=[3, 7],
                                                    resblock_dilation_sizes=[[1, 3, 5], [1, 3, 5]])
    else:
        config = transformers.SpeechT5HifiGanConfig()
    spectrogram = Input("spectrogram", "float32", ("batch", "frames", config.model_in_dim))
    return randomize(_HifiGan(config)), [spectrogram]


@model("wavlm", "batch samples", (2, 2000), _SAMPLES)
def wavlm(width):
    """Relative positions in buckets, gated by the states."""
    narrow = dict(_NARROW_WAVES, num_buckets=16, max_bucket_distance=40)
    config = transformers.WavLMConfig(**(narrow if width == "narrow" else {}))
    return randomize(_Encoder(transformers.WavLMModel(config))), [_WAVE]


class _Codec(nn.Module):
    def __init__(self, part):
        super().__init__()
        self.part = part

    def forward(self, states):
        return self.part(states)


def _encodec(width):
    config = transformers.EncodecConfig()  # encodec_24khz
    if width == "narrow":
        config = transformers.EncodecConfig(num_filters=4, hidden_size=16, codebook_dim=16, codebook_size=32,
                                            upsampling_ratios=[4, 2], num_lstm_layers=1)
    return transformers.EncodecModel(config)


@model("encodec_encoder", "batch samples", (2, 400),
       ((1, 57), (1, 73), (2, 65), (2, 160), (3, 66), (1, 333), (5, 171), (2, 1000)), exporters=("legacy",))
def encodec_encoder(width):
    """Paddings are computed in floating point from the number of samples, and mirrored: few samples are refused."""
    return randomize(_Codec(_encodec(width).encoder)), [Input("wave", "float32", ("batch", 1, "samples"))]


@model("encodec_decoder", "batch frames", (2, 20),
       ((1, 7), (1, 8), (2, 9), (2, 16), (3, 11), (1, 33), (5, 17), (2, 100)), exporters=("legacy",))
def encodec_decoder(width):
    module = _encodec(width)
    states = Input("states", "float32", ("batch", module.config.hidden_size, "frames"))
    return randomize(_Codec(module.decoder)), [states]


@model("dac_decoder", "batch frames", (2, 20), ((1, 1), (1, 7), (2, 2), (2, 16), (3, 5), (1, 33), (5, 17), (2, 100)))
def dac_decoder(width):
    """Transposed convolutions and periodic activations."""
    config = transformers.DacConfig()  # dac_16khz
    if width == "narrow":
        config = transformers.DacConfig(encoder_hidden_size=4, downsampling_ratios=[2, 4], upsampling_ratios=[4, 2],
                                        decoder_hidden_size=16, n_codebooks=2, codebook_size=16, codebook_dim=4)
    states = Input("states", "float32", ("batch", config.hidden_size, "frames"))
    return randomize(_Codec(transformers.DacModel(config).decoder)), [states]
