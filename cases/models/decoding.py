"""Decoders with a cache of keys and values: one file for the prefill and for every step, with each kind of cache."""

from caniexport.model.architectures import Architecture
from caniexport.model.decoders import DYNAMIC_CACHE, STATIC_CACHE, make_inputs
from caniexport.worker.decoders import make_cases

_BASE = {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4, "vocab_size": 99, "use_cache": True}
_SHORT = {**_BASE, "max_position_embeddings": 64, "pad_token_id": 0, "bos_token_id": 1, "eos_token_id": 2}
_GROUPED = {**_SHORT, "intermediate_size": 37, "num_key_value_heads": 2}
_GPT2 = {"n_embd": 32, "n_layer": 2, "n_head": 4, "n_positions": 64, "vocab_size": 99, "use_cache": True}
#: shorter than the longest input
_WINDOW = {"sliding_window": 8}

#: by type: the class, its settings, and the heads of its keys and values
DECODERS = {
    "llama": ("LlamaForCausalLM", _GROUPED, 2),
    "mistral": ("MistralForCausalLM", {**_GROUPED, **_WINDOW}, 2),
    "qwen2": ("Qwen2ForCausalLM", _GROUPED, 2),
    "qwen3": ("Qwen3ForCausalLM", {**_GROUPED, "head_dim": 8}, 2),
    "gemma2": ("Gemma2ForCausalLM", {**_GROUPED, **_WINDOW, "head_dim": 8, "query_pre_attn_scalar": 8}, 2),
    "phi3": ("Phi3ForCausalLM", {**_GROUPED, "original_max_position_embeddings": 64}, 2),
    "gpt2": ("GPT2LMHeadModel", {**_GPT2, "bos_token_id": 1, "eos_token_id": 2}, 4),
    "opt": ("OPTForCausalLM", {**_SHORT, "ffn_dim": 37, "word_embed_proj_dim": 32}, 4),
    "falcon": ("FalconForCausalLM", _SHORT, 1),
    "smollm3": ("SmolLM3ForCausalLM", {**_GROUPED, "no_rope_layer_interval": 2}, 2),
}

TABLE = [
    Architecture(
        "{}-{}".format(kind, cache.replace("_", "-")),
        "transformers",
        name,
        settings,
        make_inputs(cache, layers=2, heads=heads, size=8),
        call=cache,
    )
    for kind, (name, settings, heads) in DECODERS.items()
    for cache in (DYNAMIC_CACHE, STATIC_CACHE)
]

globals().update(make_cases(TABLE, __name__))
