"""Decoders of transformers whose caches of keys and values grow by the tokens of each call."""
import transformers
from torch import nn

from catalog import Input, model
from weights import randomize

_VOCABULARY = 50


class _Cached(nn.Module):
    """Logits, then the grown key and value of each layer. `past` holds the key and value of each layer."""
    def __init__(self, inner):
        super().__init__()
        self.inner = inner

    def forward(self, input_ids, attention_mask, *past):
        cache = transformers.DynamicCache(config=self.inner.config)
        for i, layer in enumerate(cache.layers):
            layer.lazy_initialization(*past[2 * i:2 * i + 2])
            layer.keys, layer.values = past[2 * i:2 * i + 2]
        found = self.inner(input_ids=input_ids, attention_mask=attention_mask, past_key_values=cache, use_cache=True)
        return found.logits, *(state for layer in cache.layers for state in (layer.keys, layer.values))


def _decoder(inner, heads, head_size):
    config = inner.config
    past = [Input(f"past_{kind}_{i}", "float32", ("batch", heads, "past", head_size))
            for i in range(config.num_hidden_layers) for kind in ("key", "value")]
    return randomize(_Cached(inner)), [Input("input_ids", "int64", ("batch", "sequence"), config.vocab_size),
                                       Input("attention_mask", "int64", ("batch", "total"), "mask"), *past]


_TRACED = (2, 5, 7, 12)
# The first tokens, then one or several more.
_SHAPES = tuple((batch, sequence, past, past + sequence) for batch, sequence, past in
                ((1, 1, 0), (1, 7, 0), (3, 16, 0), (1, 1, 1), (2, 1, 7), (1, 3, 33), (5, 1, 40), (2, 17, 5)))


def _cached(name):
    """Registers `build(narrow) -> model, key heads, head size`."""
    def register(build):
        @model(name, "batch sequence past total", _TRACED, _SHAPES)
        def registered(width):
            return _decoder(*build(width == "narrow"))

        return registered

    return register


@_cached("gpt2")
def gpt2(narrow):
    config = transformers.GPT2Config()
    if narrow:
        config = transformers.GPT2Config(vocab_size=_VOCABULARY, n_positions=64, n_embd=32, n_layer=2, n_head=2,
                                         bos_token_id=0, eos_token_id=1)
    return transformers.GPT2LMHeadModel(config), config.n_head, config.n_embd // config.n_head


_NARROW = dict(vocab_size=_VOCABULARY, hidden_size=32, intermediate_size=48, num_hidden_layers=2, num_attention_heads=4,
               num_key_value_heads=2, max_position_embeddings=64)


@_cached("llama")
def llama(narrow):
    """Heads in groups of 2, rotary positions scaled as Llama 3.1 does."""
    scaling = dict(rope_type="llama3", rope_theta=10000.0, factor=8.0, low_freq_factor=1.0, high_freq_factor=4.0,
                   original_max_position_embeddings=32)
    sizes = _NARROW if narrow else dict(hidden_size=576, intermediate_size=1536, num_hidden_layers=30,
                                        num_attention_heads=9, num_key_value_heads=3, vocab_size=49152)  # SmolLM-135M
    config = transformers.LlamaConfig(**sizes, rope_parameters=scaling)
    return transformers.LlamaForCausalLM(config), config.num_key_value_heads, config.head_dim


@_cached("qwen2")
def qwen2(narrow):
    """Heads in groups of 2, biases in the projections of queries, keys and values."""
    sizes = _NARROW if narrow else dict(hidden_size=896, intermediate_size=4864, num_hidden_layers=24,
                                        num_attention_heads=14, num_key_value_heads=2, tie_word_embeddings=True)
    config = transformers.Qwen2Config(**sizes)  # else Qwen2-0.5B
    return (transformers.Qwen2ForCausalLM(config), config.num_key_value_heads,
            config.hidden_size // config.num_attention_heads)


@_cached("gemma2")
def gemma2(narrow):
    """Scores and logits bounded by tanh; all layers attend to all tokens."""
    sizes = dict(_NARROW, head_dim=8) if narrow else dict(hidden_size=576, intermediate_size=1536, num_hidden_layers=12,
                                                          num_attention_heads=4, num_key_value_heads=2)
    layers = ["full_attention"] * sizes["num_hidden_layers"]
    config = transformers.Gemma2Config(**sizes, layer_types=layers)
    return transformers.Gemma2ForCausalLM(config), config.num_key_value_heads, config.head_dim


@_cached("gptj")
def gptj(narrow):
    """Rotary positions on interleaved pairs, for a part of each head."""
    if narrow:
        config = transformers.GPTJConfig(vocab_size=_VOCABULARY, n_positions=64, n_embd=32, n_layer=2, n_head=4,
                                         rotary_dim=4, bos_token_id=0, eos_token_id=1)
    else:
        config = transformers.GPTJConfig(n_embd=768, n_layer=12, n_head=12)
    return transformers.GPTJForCausalLM(config), config.n_head, config.n_embd // config.n_head


@_cached("bloom")
def bloom(narrow):
    """Biases that fall with distance (ALiBi)."""
    config = transformers.BloomConfig(hidden_size=1024, n_layer=24, n_head=16)  # bloom-560m
    if narrow:
        config = transformers.BloomConfig(vocab_size=_VOCABULARY, hidden_size=32, n_layer=2, n_head=4)
    return transformers.BloomForCausalLM(config), config.n_head, config.hidden_size // config.n_head


@_cached("falcon")
def falcon(narrow):
    """One head of keys and values; attention and feed-forward in parallel."""
    sizes = dict(vocab_size=_VOCABULARY, hidden_size=32, num_hidden_layers=2, num_attention_heads=4,
                 max_position_embeddings=64) if narrow else dict(hidden_size=768, num_hidden_layers=12,
                                                                 num_attention_heads=12)
    config = transformers.FalconConfig(**sizes, multi_query=True)
    return transformers.FalconForCausalLM(config), 1, config.head_dim
