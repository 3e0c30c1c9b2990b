"""Encoders, decoders, and both, of text."""

from caniexport.model.architectures import Architecture, Axis, ids, mask
from caniexport.worker.architectures import make_cases

BATCH, LENGTH = Axis("batch", 2, 3), Axis("length", 7, 11)

TABLE = [
    Architecture(
        "bert",
        "transformers",
        "BertModel",
        {
            "hidden_size": 32,
            "num_hidden_layers": 2,
            "num_attention_heads": 4,
            "intermediate_size": 37,
            "vocab_size": 99,
        },
        {"input_ids": ids(BATCH, LENGTH), "attention_mask": mask(BATCH, LENGTH)},
    ),
    Architecture(
        "llama",
        "transformers",
        "LlamaModel",
        {
            "hidden_size": 32,
            "num_hidden_layers": 2,
            "num_attention_heads": 4,
            "num_key_value_heads": 2,
            "intermediate_size": 37,
            "vocab_size": 99,
        },
        {"input_ids": ids(BATCH, LENGTH), "attention_mask": mask(BATCH, LENGTH)},
    ),
]
globals().update(make_cases(TABLE, __name__))
