"""Models of speech and of other sounds."""

from typing import Tuple

from caniexport.model.architectures import Architecture, Axis, Input, floats
from caniexport.model.tensors import Spec, values
from caniexport.worker.architectures import make_cases

BATCH, FRAMES, SAMPLES = (
    Axis("batch", 2, 3),
    Axis("frames", 20, 28),
    Axis("samples", 400, 620),
)


def lengths(axis: Axis, dtype: str = "int64", less: int = 2) -> Input:
    """How much of ``axis`` is filled: all of it in the first rows, ``less`` less in the last."""

    def make(shape: Tuple[int, ...]) -> Spec:
        full = axis.first if shape[0] == BATCH.first else axis.second
        return values([full] * (shape[0] - 1) + [full - less], dtype)

    return Input((BATCH,), make)


WAVES = {
    "extractor_mode": "layer_norm",
    "extractor_conv_layer_config": [(16, 10, 5), (16, 3, 2), (32, 3, 2)],
    "extractor_conv_bias": False,
    "encoder_embed_dim": 32,
    "encoder_projection_dropout": 0.0,
    "encoder_pos_conv_kernel": 16,
    "encoder_pos_conv_groups": 2,
    "encoder_num_layers": 2,
    "encoder_num_heads": 4,
    "encoder_attention_dropout": 0.0,
    "encoder_ff_interm_features": 37,
    "encoder_ff_interm_dropout": 0.0,
    "encoder_dropout": 0.0,
    "encoder_layer_norm_first": True,
    "encoder_layer_drop": 0.0,
    "aux_num_out": 29,
}

TABLE = [
    Architecture(
        "conformer",
        "torchaudio",
        "Conformer",
        {
            "input_dim": 32,
            "num_heads": 4,
            "ffn_dim": 37,
            "num_layers": 2,
            "depthwise_conv_kernel_size": 5,
        },
        {"input": floats(BATCH, FRAMES, 32), "lengths": lengths(FRAMES)},
        call="positions",
    ),
    Architecture(
        "conv-tasnet",
        "torchaudio",
        "ConvTasNet",
        {
            "num_sources": 2,
            "enc_num_feats": 32,
            "msk_num_feats": 16,
            "msk_num_hidden_feats": 32,
            "msk_num_layers": 2,
            "msk_num_stacks": 2,
        },
        {"input": floats(BATCH, 1, SAMPLES)},
        call="positions",
    ),
    Architecture(
        "deepspeech",
        "torchaudio",
        "DeepSpeech",
        {"n_feature": 16, "n_hidden": 32, "n_class": 29},
        {"x": floats(BATCH, 1, FRAMES, 16)},
        call="positions",
    ),
    Architecture(
        "wav2vec2",
        "torchaudio",
        "wav2vec2_model",
        WAVES,
        {"waveforms": floats(BATCH, SAMPLES)},
        call="positions",
    ),
    Architecture(
        "wav2vec2-lengths",
        "torchaudio",
        "wav2vec2_model",
        {**WAVES, "extractor_mode": "group_norm", "encoder_layer_norm_first": False},
        {"waveforms": floats(BATCH, SAMPLES), "lengths": lengths(SAMPLES, less=100)},
        call="positions",
    ),
    Architecture(
        "wavlm",
        "torchaudio",
        "wavlm_model",
        {**WAVES, "encoder_num_buckets": 32, "encoder_max_distance": 80},
        {"waveforms": floats(BATCH, SAMPLES)},
        call="positions",
    ),
    Architecture(
        "emformer",
        "torchaudio",
        "Emformer",
        {
            "input_dim": 32,
            "num_heads": 4,
            "ffn_dim": 37,
            "num_layers": 2,
            "segment_length": 4,
            "left_context_length": 4,
            "right_context_length": 2,
        },
        {
            "input": floats(BATCH, Axis("frames", 22, 30), 32),
            "lengths": lengths(FRAMES),
        },
        call="positions",
    ),
    Architecture(
        "emformer-rnnt",
        "torchaudio",
        "emformer_rnnt_model",
        {
            "input_dim": 16,
            "encoding_dim": 24,
            "num_symbols": 29,
            "segment_length": 8,
            "right_context_length": 4,
            "time_reduction_input_dim": 8,
            "time_reduction_stride": 4,
            "transformer_num_heads": 4,
            "transformer_ffn_dim": 37,
            "transformer_num_layers": 2,
            "transformer_dropout": 0.0,
            "transformer_activation": "gelu",
            "transformer_left_context_length": 4,
            "transformer_max_memory_size": 0,
            "transformer_weight_init_scale_strategy": "depthwise",
            "transformer_tanh_on_mem": True,
            "symbol_embedding_dim": 16,
            "num_lstm_layers": 1,
            "lstm_layer_norm": True,
            "lstm_layer_norm_epsilon": 1e-3,
            "lstm_dropout": 0.0,
        },
        {
            "sources": floats(BATCH, Axis("frames", 24, 32), 16),
            "source_lengths": lengths(FRAMES, "int32", less=4),
            "targets": Input(
                (BATCH, 5),
                lambda shape: Spec("int32", shape, 3, 28),
            ),
            "target_lengths": Input((BATCH,), lambda shape: values([5] * shape[0], "int32")),
        },
        call="positions",
    ),
    Architecture(
        "wavernn",
        "torchaudio",
        "WaveRNN",
        {
            "upsample_scales": [2, 3],
            "n_classes": 16,
            "hop_length": 6,
            "n_res_block": 2,
            "n_rnn": 32,
            "n_fc": 32,
            "n_freq": 16,
            "n_hidden": 16,
            "n_output": 16,
        },
        {"waveform": floats(BATCH, 1, 96), "specgram": floats(BATCH, 1, 16, 20)},
        call="positions",
    ),
    Architecture(
        "hdemucs",
        "torchaudio",
        "HDemucs",
        {
            "sources": ["drums", "voice"],
            "channels": 8,
            "nfft": 256,
            "depth": 4,
            "dconv_lstm": 3,
            "dconv_attn": 3,
        },
        {"input": floats(BATCH, 2, Axis("samples", 2048, 3072))},
        call="positions",
    ),
    Architecture(
        "squim-objective",
        "torchaudio",
        "squim_objective_model",
        {
            "feat_dim": 16,
            "win_len": 16,
            "d_model": 16,
            "nhead": 4,
            "hidden_dim": 16,
            "num_blocks": 1,
            "rnn_type": "LSTM",
            "chunk_size": 10,
        },
        {"x": floats(BATCH, SAMPLES)},
        call="positions",
    ),
]
globals().update(make_cases(TABLE, __name__))
