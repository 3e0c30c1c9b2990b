"""Models by architecture as users export them, small and without downloads: one function each, ``(module, inputs)``.

``caniexport check benchmarks/models/models.py:swin --with torchvision`` checks one. ``python
benchmarks/models/models.py`` prints names and packages, and with ``--run`` builds and runs each model in the present
environment. The models of ``benchmarks/packages.py`` are not repeated.
"""

from __future__ import annotations

import math
import sys
import traceback
from collections.abc import Callable
from typing import Any

import torch
import torch.nn.functional as F  # noqa: N812  # what everybody calls it
from torch import nn

Made = tuple[nn.Module, tuple[Any, ...]]
#: the function of each model, and the packages that it needs beside torch
MODELS: dict[str, tuple[Callable[[], Made], tuple[str, ...]]] = {}


def needs(*packages: str) -> Callable[[Callable[[], Made]], Callable[[], Made]]:
    """Enter a function into the table, with what is installed for it."""

    def enter(function: Callable[[], Made]) -> Callable[[], Made]:
        MODELS[function.__name__] = (function, packages)
        return function

    return enter


class Called(nn.Module):
    """Gives a model the arguments that ``arguments`` makes of the inputs, and of its answer what ``result`` takes."""

    def __init__(self, model: nn.Module, arguments: Callable[..., Any], result: Callable[[Any], Any] = tuple) -> None:
        super().__init__()
        self.model, self.arguments, self.result = model, arguments, result

    def forward(self, *inputs: torch.Tensor) -> Any:
        return self.result(self.model(**self.arguments(*inputs)))


class Parts(nn.Module):
    """A module whose layers, parameters and buffers are given by name."""

    def __init__(self, **parts: Any) -> None:
        super().__init__()
        for name, part in parts.items():
            if isinstance(part, torch.Tensor) and not isinstance(part, nn.Parameter):
                self.register_buffer(name, part)
            else:
                setattr(self, name, part)


def image(size: int = 64, batch: int = 1, channels: int = 3) -> torch.Tensor:
    return torch.rand(batch, channels, size, size)


def tokens(length: int = 16, batch: int = 1, words: int = 60) -> torch.Tensor:
    return torch.arange(batch * length).reshape(batch, length) % (words - 2) + 1


#: sizes of a small decoder
SMALL = {
    "vocab_size": 60,
    "hidden_size": 32,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "intermediate_size": 48,
    "max_position_embeddings": 64,
}


def language(kind: str, **options: Any) -> Made:
    """A small causal language model of transformers: its logits of a row of tokens."""
    import transformers

    config = getattr(transformers, f"{kind}Config")(**{**SMALL, **options})
    model = getattr(transformers, f"{kind}ForCausalLM")(config)
    return Called(model, lambda ids: {"input_ids": ids, "use_cache": False}, lambda out: out.logits), (tokens(),)


# torchvision


@needs("torchvision")
def resnet() -> Made:
    import torchvision

    return torchvision.models.resnet18(num_classes=5), (image(),)


@needs("torchvision")
def mobilenet_v3() -> Made:
    import torchvision

    return torchvision.models.mobilenet_v3_small(num_classes=5), (image(),)


@needs("torchvision")
def efficientnet() -> Made:
    import torchvision

    return torchvision.models.efficientnet_b0(num_classes=5), (image(),)


@needs("torchvision")
def shufflenet() -> Made:
    import torchvision

    return torchvision.models.shufflenet_v2_x0_5(num_classes=5), (image(),)


@needs("torchvision")
def convnext() -> Made:
    import torchvision

    return torchvision.models.convnext_tiny(num_classes=5), (image(),)


@needs("torchvision")
def swin() -> Made:
    import torchvision

    return torchvision.models.swin_v2_t(num_classes=5), (image(),)


@needs("torchvision")
def deeplab() -> Made:
    import torchvision

    model = torchvision.models.segmentation.deeplabv3_mobilenet_v3_large(weights_backbone=None, num_classes=3)
    return Called(model, lambda x: {"x": x}, lambda out: out["out"]), (image(96),)


@needs("torchvision")
def retinanet() -> Made:
    import torchvision

    model = torchvision.models.detection.retinanet_resnet50_fpn(
        weights=None, weights_backbone=None, num_classes=3, min_size=64, max_size=64
    )
    return Called(model, lambda x: {"images": [x]}, lambda out: tuple(out[0].values())), (image()[0],)


@needs("torchvision")
def faster_rcnn() -> Made:
    import torchvision

    model = torchvision.models.detection.fasterrcnn_mobilenet_v3_large_320_fpn(
        weights=None, weights_backbone=None, num_classes=3, min_size=64, max_size=64
    )
    return Called(model, lambda x: {"images": [x]}, lambda out: tuple(out[0].values())), (image()[0],)


@needs("torchvision")
def ssdlite() -> Made:
    import torchvision

    model = torchvision.models.detection.ssdlite320_mobilenet_v3_large(
        weights=None, weights_backbone=None, num_classes=3
    )
    return Called(model, lambda x: {"images": [x]}, lambda out: tuple(out[0].values())), (image(320)[0],)


@needs("torchvision")
def video_resnet() -> Made:
    import torchvision

    return torchvision.models.video.r3d_18(num_classes=5), (torch.rand(1, 3, 4, 32, 32),)


@needs("torchvision")
def raft() -> Made:
    import torchvision

    model = torchvision.models.optical_flow.raft_small()
    return Called(model, lambda a, b: {"image1": a, "image2": b, "num_flow_updates": 2}), (image(128), image(128))


# timm


@needs("timm", "torchvision")
def conv_same() -> Made:
    import timm

    return timm.create_model("tf_efficientnet_lite0", num_classes=5), (image(),)


@needs("timm", "torchvision")
def halonet() -> Made:
    import timm

    return timm.create_model("halonet26t", num_classes=5, img_size=256), (image(256),)


@needs("timm", "torchvision")
def mobilevit() -> Made:
    import timm

    return timm.create_model("mobilevit_xxs", num_classes=5), (image(),)


@needs("timm", "torchvision")
def cross_covariance() -> Made:
    import timm

    return timm.create_model("xcit_nano_12_p16_224", num_classes=5, depth=2, img_size=64), (image(),)


@needs("timm", "torchvision")
def eva_rope() -> Made:
    import timm

    return timm.create_model("eva02_tiny_patch14_224", num_classes=5, depth=2, img_size=56), (image(56),)


@needs("timm", "torchvision")
def mixer() -> Made:
    import timm

    return timm.create_model("mixer_s32_224", num_classes=5, img_size=64), (image(),)


@needs("timm", "torchvision")
def max_vit() -> Made:
    import timm

    return timm.create_model("maxvit_rmlp_pico_rw_256", num_classes=5, img_size=128), (image(128),)


# transformers


@needs("transformers")
def t5() -> Made:
    from transformers import T5Config, T5ForConditionalGeneration

    model = T5ForConditionalGeneration(
        T5Config(vocab_size=60, d_model=32, d_kv=8, d_ff=48, num_layers=2, num_heads=4, decoder_start_token_id=0)
    )
    arguments: Callable[..., Any] = lambda ids, to: {"input_ids": ids, "decoder_input_ids": to, "use_cache": False}  # noqa: E731
    return Called(model, arguments, lambda out: out.logits), (tokens(), tokens(5))


@needs("transformers")
def whisper() -> Made:
    from transformers import WhisperConfig, WhisperModel

    sizes = {"d_model": 32, "encoder_layers": 2, "decoder_layers": 2, "vocab_size": 60, "num_mel_bins": 20}
    heads = {"encoder_attention_heads": 4, "decoder_attention_heads": 4, "pad_token_id": 0, "eos_token_id": 1}
    model = WhisperModel(
        WhisperConfig(max_source_positions=50, bos_token_id=1, decoder_start_token_id=1, **sizes, **heads)
    )
    arguments: Callable[..., Any] = lambda x, to: {"input_features": x, "decoder_input_ids": to, "use_cache": False}  # noqa: E731
    return Called(model, arguments, lambda out: out.last_hidden_state), (torch.rand(1, 20, 100), tokens(5))


@needs("transformers")
def clip() -> Made:
    from transformers import CLIPConfig, CLIPModel

    text = {**SMALL, "projection_dim": 16, "eos_token_id": 58}
    vision = {**SMALL, "image_size": 32, "patch_size": 8, "projection_dim": 16}
    model = CLIPModel(CLIPConfig(text_config=text, vision_config=vision, projection_dim=16))
    result: Callable[[Any], Any] = lambda out: (out.logits_per_image, out.text_embeds)  # noqa: E731
    return Called(model, lambda x, ids: {"pixel_values": x, "input_ids": ids}, result), (image(32), tokens(64))


@needs("transformers")
def rt_detr() -> Made:
    from transformers import RTDetrConfig, RTDetrForObjectDetection, RTDetrResNetConfig

    stages = {"embedding_size": 8, "hidden_sizes": [8, 16, 24, 32], "depths": [1] * 4, "layer_type": "basic"}
    backbone = RTDetrResNetConfig(**stages, out_indices=[2, 3, 4])
    sizes = {"d_model": 32, "encoder_hidden_dim": 32, "decoder_layers": 2, "num_queries": 10}
    heads = {"encoder_attention_heads": 4, "decoder_attention_heads": 4, "use_pretrained_backbone": False}
    channels = {"encoder_in_channels": [16, 24, 32], "decoder_in_channels": [32] * 3}
    model = RTDetrForObjectDetection(RTDetrConfig(backbone_config=backbone, **sizes, **heads, **channels))
    return Called(model, lambda x: {"pixel_values": x}, lambda out: (out.logits, out.pred_boxes)), (image(),)


@needs("transformers")
def wav2vec2() -> Made:
    from transformers import Wav2Vec2Config, Wav2Vec2ForCTC

    sizes = {"conv_dim": (16, 16), "conv_kernel": (10, 4), "conv_stride": (5, 4), "num_feat_extract_layers": 2}
    config = Wav2Vec2Config(**SMALL, **sizes, num_conv_pos_embeddings=16, num_conv_pos_embedding_groups=4)
    return Called(Wav2Vec2ForCTC(config), lambda x: {"input_values": x}, lambda out: out.logits), (torch.rand(1, 800),)


@needs("transformers")
def deberta_v2() -> Made:
    from transformers import DebertaV2Config, DebertaV2Model

    model = DebertaV2Model(DebertaV2Config(**SMALL, relative_attention=True, pos_att_type=["p2c", "c2p"]))
    arguments: Callable[..., Any] = lambda ids, mask: {"input_ids": ids, "attention_mask": mask}  # noqa: E731
    return Called(model, arguments, lambda out: out.last_hidden_state), (tokens(), torch.tensor([[1] * 12 + [0] * 4]))


@needs("transformers")
def mixture_of_experts() -> Made:
    return language("Mixtral", num_local_experts=4, num_experts_per_tok=2, num_key_value_heads=2)


@needs("transformers")
def mamba() -> Made:
    from transformers import MambaConfig, MambaForCausalLM

    model = MambaForCausalLM(MambaConfig(vocab_size=60, hidden_size=16, state_size=4, num_hidden_layers=2))
    return Called(model, lambda ids: {"input_ids": ids, "use_cache": False}, lambda out: out.logits), (tokens(8),)


@needs("transformers")
def qwen3() -> Made:
    return language("Qwen3", num_key_value_heads=2, head_dim=8)


@needs("transformers")
def gemma2() -> Made:
    return language("Gemma2", num_key_value_heads=2, head_dim=8, sliding_window=8)


@needs("transformers")
def bloom() -> Made:
    from transformers import BloomConfig, BloomForCausalLM

    model = BloomForCausalLM(BloomConfig(vocab_size=60, hidden_size=32, n_layer=2, n_head=4))
    return Called(model, lambda ids: {"input_ids": ids, "use_cache": False}, lambda out: out.logits), (tokens(),)


@needs("transformers")
def xlnet() -> Made:
    from transformers import XLNetConfig, XLNetModel

    model = XLNetModel(XLNetConfig(vocab_size=60, d_model=32, n_layer=2, n_head=4, d_inner=48))
    return Called(model, lambda ids: {"input_ids": ids}, lambda out: out.last_hidden_state), (tokens(),)


@needs("transformers")
def longformer() -> Made:
    from transformers import LongformerConfig, LongformerModel

    model = LongformerModel(LongformerConfig(**SMALL, attention_window=4))
    return Called(model, lambda ids: {"input_ids": ids}, lambda out: out.last_hidden_state), (tokens(),)


@needs("transformers")
def segformer() -> Made:
    from transformers import SegformerConfig, SegformerForSemanticSegmentation

    model = SegformerForSemanticSegmentation(
        SegformerConfig(depths=[1] * 4, hidden_sizes=[8, 16, 24, 32], decoder_hidden_size=16, num_labels=3)
    )
    return Called(model, lambda x: {"pixel_values": x}, lambda out: out.logits), (image(),)


@needs("transformers")
def sam() -> Made:
    from transformers import SamConfig, SamModel

    vision = {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4, "mlp_dim": 48, "num_pos_feats": 8}
    more = {"image_size": 64, "output_channels": 16, "global_attn_indexes": [1], "window_size": 3}
    prompt = {"hidden_size": 16, "image_size": 64, "image_embedding_size": 4, "mask_input_channels": 8}
    decoder = {"hidden_size": 16, "num_attention_heads": 4, "mlp_dim": 32, "iou_head_hidden_dim": 16}
    model = SamModel(SamConfig(vision_config=vision | more, prompt_encoder_config=prompt, mask_decoder_config=decoder))
    arguments: Callable[..., Any] = lambda x, at: {"pixel_values": x, "input_points": at, "multimask_output": False}  # noqa: E731
    return Called(model, arguments, lambda out: out.pred_masks), (image(), torch.tensor([[[[12.0, 30.0]]]]))


@needs("transformers")
def depth_anything() -> Made:
    from transformers import DepthAnythingConfig, DepthAnythingForDepthEstimation, Dinov2Config

    sizes = {"hidden_size": 32, "num_hidden_layers": 4, "num_attention_heads": 4, "image_size": 56}
    backbone = Dinov2Config(**sizes, out_indices=[1, 2, 3, 4], reshape_hidden_states=False)
    model = DepthAnythingForDepthEstimation(
        DepthAnythingConfig(backbone_config=backbone, reassemble_hidden_size=32, neck_hidden_sizes=[8, 16, 24, 32])
    )
    return Called(model, lambda x: {"pixel_values": x}, lambda out: out.predicted_depth), (image(56),)


@needs("transformers")
def vits() -> Made:
    from transformers import VitsConfig, VitsModel

    sizes = {"flow_size": 16, "upsample_initial_channel": 32, "wavenet_dilation_rate": 1, "prior_encoder_num_flows": 2}
    more = {"num_hidden_layers": 2, "num_attention_heads": 4, "ffn_dim": 48, "vocab_size": 60, "hidden_size": 32}
    model = VitsModel(VitsConfig(**sizes, **more, spectrogram_bins=33, duration_predictor_flow_bins=4))
    model.noise_scale = model.noise_scale_duration = 0.0
    return Called(model, lambda ids: {"input_ids": ids}, lambda out: out.waveform), (tokens(8),)


@needs("transformers")
def encodec() -> Made:
    from transformers import EncodecConfig, EncodecModel

    sizes = {
        "num_filters": 4,
        "hidden_size": 16,
        "codebook_size": 32,
        "num_lstm_layers": 1,
        "target_bandwidths": [24.0],
    }
    model = EncodecModel(EncodecConfig(upsampling_ratios=[4, 2], **sizes))
    return Called(model, lambda x: {"input_values": x}, lambda out: (out.audio_codes, out.audio_values)), (
        torch.rand(1, 1, 320),
    )


# diffusers


@needs("diffusers", "transformers")
def conditional_unet() -> Made:
    from diffusers import UNet2DConditionModel

    model = UNet2DConditionModel(
        sample_size=8, block_out_channels=(8, 16), layers_per_block=1, norm_num_groups=4, cross_attention_dim=16,
        attention_head_dim=4, down_block_types=("CrossAttnDownBlock2D", "DownBlock2D"),
        up_block_types=("UpBlock2D", "CrossAttnUpBlock2D"),
    )  # fmt: skip
    arguments: Callable[..., Any] = lambda x, at, text: {"sample": x, "timestep": at, "encoder_hidden_states": text}  # noqa: E731
    return Called(model, arguments, lambda out: out.sample), (image(8, 1, 4), torch.tensor([7]), torch.rand(1, 6, 16))


@needs("diffusers", "transformers")
def autoencoder() -> Made:
    from diffusers import AutoencoderKL

    model = AutoencoderKL(
        block_out_channels=(8, 16), norm_num_groups=4, down_block_types=("DownEncoderBlock2D",) * 2,
        up_block_types=("UpDecoderBlock2D",) * 2,
    )  # fmt: skip
    return Called(model, lambda x: {"sample": x}, lambda out: out.sample), (image(32),)


@needs("diffusers", "transformers")
def diffusion_transformer() -> Made:
    from diffusers import DiTTransformer2DModel

    model = DiTTransformer2DModel(
        num_attention_heads=2, attention_head_dim=8, in_channels=4, out_channels=4, num_layers=2, sample_size=8,
        norm_num_groups=4, num_embeds_ada_norm=10,
    )  # fmt: skip
    arguments: Callable[..., Any] = lambda x, at, kind: {"hidden_states": x, "timestep": at, "class_labels": kind}  # noqa: E731
    return Called(model, arguments, lambda out: out.sample), (image(8, 1, 4), torch.tensor([7]), torch.tensor([3]))


# graphs

EDGES = torch.tensor([[0, 1, 2, 3, 4, 5, 6, 7, 2, 2], [1, 2, 3, 4, 5, 6, 7, 0, 6, 6]])


@needs("torch-geometric")
def graph_sage() -> Made:
    from torch_geometric.nn import SAGEConv

    return SAGEConv(5, 8, aggr="max"), (torch.rand(8, 5), EDGES)


@needs("torch-geometric")
def graph_isomorphism() -> Made:
    from torch_geometric.nn import GINConv, global_mean_pool

    class Graphs(Parts):
        def forward(self, x: torch.Tensor, edges: torch.Tensor, graph: torch.Tensor) -> torch.Tensor:
            return global_mean_pool(self.layer(x, edges), graph, 2)

    return Graphs(layer=GINConv(nn.Sequential(nn.Linear(5, 8), nn.ReLU(), nn.Linear(8, 4)))), (
        torch.rand(8, 5),
        EDGES,
        torch.tensor([0, 0, 0, 0, 0, 1, 1, 1]),
    )


@needs("torch-geometric")
def graph_transformer() -> Made:
    from torch_geometric.nn import TransformerConv

    return TransformerConv(5, 4, heads=2), (torch.rand(8, 5), EDGES)


@needs("torch-geometric")
def point_edges() -> Made:
    from torch_geometric.nn import EdgeConv

    return EdgeConv(nn.Sequential(nn.Linear(6, 8), nn.ReLU())), (torch.rand(8, 3), EDGES)


# torch alone


@needs()
def packed_lstm_tagger() -> Made:
    class Tagger(Parts):
        def forward(self, ids: torch.Tensor, lengths: torch.Tensor) -> torch.Tensor:
            packed = nn.utils.rnn.pack_padded_sequence(self.words(ids.t()), lengths, enforce_sorted=False)
            return self.tags(nn.utils.rnn.pad_packed_sequence(self.lstm(packed)[0])[0])

    return Tagger(words=nn.Embedding(60, 8), lstm=nn.LSTM(8, 6, 2, bidirectional=True), tags=nn.Linear(12, 5)), (
        tokens(7, 3),
        torch.tensor([4, 7, 2]),
    )


@needs()
def gru_with_attention() -> Made:
    class Reader(Parts):
        def forward(self, x: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
            states, _ = self.gru(x)
            weights = self.score(states).squeeze(-1).masked_fill(~mask, float("-inf")).softmax(-1)
            return torch.einsum("bt,btd->bd", weights, states)

    return Reader(gru=nn.GRU(5, 8, batch_first=True, bidirectional=True), score=nn.Linear(16, 1)), (
        torch.rand(2, 6, 5),
        torch.tensor([[True] * 6, [True] * 4 + [False] * 2]),
    )


@needs()
def temporal_convolution() -> Made:
    class Block(nn.Module):
        def __init__(self, dilation: int) -> None:
            super().__init__()
            self.pad = 2 * dilation
            self.conv = nn.utils.parametrizations.weight_norm(nn.Conv1d(4, 4, 3, dilation=dilation, padding=self.pad))

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return F.relu(self.conv(x)[:, :, : -self.pad]) + x

    return nn.Sequential(Block(1), Block(2), Block(4)), (torch.rand(2, 4, 20),)


@needs()
def conformer() -> Made:
    class Conformer(Parts):
        def forward(self, x: torch.Tensor, lengths: torch.Tensor) -> torch.Tensor:
            padded = torch.arange(x.size(1))[None] >= lengths[:, None]
            x = x + self.attention(self.norm(x), self.norm(x), self.norm(x), key_padding_mask=padded)[0]
            return x + self.tail(self.conv(x.transpose(1, 2))).transpose(1, 2)

    return Conformer(
        attention=nn.MultiheadAttention(16, 4, batch_first=True),
        norm=nn.LayerNorm(16),
        conv=nn.Sequential(nn.Conv1d(16, 32, 1), nn.GLU(1), nn.Conv1d(16, 16, 5, padding="same", groups=16)),
        tail=nn.Sequential(nn.BatchNorm1d(16), nn.SiLU(), nn.Conv1d(16, 16, 1)),
    ), (torch.rand(2, 9, 16), torch.tensor([9, 6]))


@needs()
def radiance_field() -> Made:
    class Field(Parts):
        def forward(self, origin: torch.Tensor, direction: torch.Tensor) -> torch.Tensor:
            at = origin[:, None] + torch.linspace(0.5, 2.0, 8)[:, None] * direction[:, None]
            angles = (at[..., None] * 2.0 ** torch.arange(4)).flatten(-2)
            out = self.layers(torch.cat([angles.sin(), angles.cos()], -1))
            clear = torch.exp(-F.relu(out[..., 3]) * 0.2)
            weight = (1 - clear) * torch.cumprod(torch.cat([torch.ones_like(clear[:, :1]), clear[:, :-1]], 1), 1)
            return (weight[..., None] * out[..., :3].sigmoid()).sum(1)

    return Field(layers=nn.Sequential(nn.Linear(24, 16), nn.Softplus(), nn.Linear(16, 4))), (
        torch.rand(5, 3),
        torch.rand(5, 3),
    )


@needs()
def soft_argmax_keypoints() -> Made:
    class Keypoints(Parts):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            heat = self.layers(x)
            weights = heat.flatten(2).softmax(-1).view_as(heat)
            ys, xs = torch.meshgrid(torch.arange(heat.size(2)), torch.arange(heat.size(3)), indexing="ij")
            return torch.stack([(weights * xs).sum((2, 3)), (weights * ys).sum((2, 3))], -1)

    return Keypoints(layers=nn.Sequential(nn.Conv2d(3, 8, 3, 2, 1), nn.ReLU(), nn.ConvTranspose2d(8, 4, 4, 2, 1))), (
        image(16, 2),
    )


@needs()
def heat_map_decoder() -> Made:
    class Decoder(Parts):
        def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
            heat, size = self.heads(x).split([3, 2], 1)
            peaks = heat.sigmoid() * (F.max_pool2d(heat, 3, 1, 1) == heat)
            scores, where = peaks.flatten(1).topk(6)
            places = where.remainder(x.size(2) * x.size(3))
            at = torch.stack([places % x.size(3), places // x.size(3)], -1)
            found = size.flatten(2).gather(2, places[:, None].expand(-1, 2, -1)).transpose(1, 2)
            return torch.cat([at - found / 2, at + found / 2], -1), scores

    return Decoder(heads=nn.Conv2d(8, 5, 1)), (image(8, 2, 8),)


@needs()
def text_recogniser() -> Made:
    class Recogniser(Parts):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return self.letters(self.lstm(self.conv(x).squeeze(2).permute(2, 0, 1))[0]).log_softmax(-1)

    return Recogniser(
        conv=nn.Sequential(nn.Conv2d(1, 8, 3, (2, 1), 1), nn.ReLU(), nn.AdaptiveAvgPool2d((1, None))),
        lstm=nn.LSTM(8, 6, bidirectional=True),
        letters=nn.Linear(12, 11),
    ), (torch.rand(2, 1, 16, 20),)


@needs()
def vector_quantiser() -> Made:
    class Quantiser(Parts):
        def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
            found = self.encode(x).permute(0, 2, 3, 1)
            index = torch.cdist(found.flatten(0, 2), self.codes.weight).argmin(-1)
            chosen = self.codes(index).view_as(found)
            return self.decode((found + (chosen - found).detach()).permute(0, 3, 1, 2)), index

    return Quantiser(encode=nn.Conv2d(3, 6, 4, 4), decode=nn.ConvTranspose2d(6, 3, 4, 4), codes=nn.Embedding(9, 6)), (
        image(16, 2),
    )


@needs()
def selective_scan() -> Made:
    class Scan(Parts):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            step, inward, outward = self.gates(x).split([6, 4, 4], -1)
            step, state, found = F.softplus(step), x.new_zeros(x.size(0), 6, 4), []
            kept, new = torch.exp(-step[..., None] * self.decay), (step * x)[..., None] * inward[:, :, None]
            for t in range(x.size(1)):
                state = kept[:, t] * state + new[:, t]
                found.append(torch.einsum("bdn,bn->bd", state, outward[:, t]))
            return torch.stack(found, 1)

    return Scan(gates=nn.Linear(6, 14), decay=nn.Parameter(torch.rand(6, 4))), (torch.rand(2, 5, 6),)


@needs()
def complex_rotary_attention() -> Made:
    class Attention(Parts):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            q, k, v = self.inward(x).view(*x.shape[:2], 8, 8).transpose(1, 2).split([4, 2, 2], 1)
            angles = torch.outer(torch.arange(x.size(1)).float(), 0.1 ** torch.arange(4))
            turn = torch.polar(torch.ones_like(angles), angles)
            turned = [torch.view_as_complex(t.reshape(*t.shape[:-1], 4, 2)) * turn for t in (q, k)]
            q, k = (torch.view_as_real(t).flatten(-2) for t in turned)
            return F.scaled_dot_product_attention(q, k, v, is_causal=True, enable_gqa=True).transpose(1, 2).flatten(2)

    return Attention(inward=nn.Linear(32, 64)), (torch.rand(2, 7, 32),)


@needs()
def spatial_transformer() -> Made:
    class Transformer(Parts):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            grid = F.affine_grid(self.place(x).view(-1, 2, 3), x.size(), align_corners=False)
            return F.grid_sample(x, grid, padding_mode="border", align_corners=False)

    return Transformer(place=nn.Sequential(nn.AdaptiveAvgPool2d(4), nn.Flatten(), nn.Linear(48, 6))), (image(14, 2),)


@needs()
def spectrogram_classifier() -> Made:
    class Classifier(Parts):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            power = torch.stft(x, 64, 16, window=self.window, return_complex=True).abs().square()
            loud = torch.log10(power.clamp(min=1e-6))
            return self.layers(((loud - loud.mean((1, 2), True)) / loud.std((1, 2), keepdim=True))[:, None])

    return Classifier(
        window=torch.hann_window(64),
        layers=nn.Sequential(nn.Conv2d(1, 4, 3, 2), nn.ReLU(), nn.AdaptiveMaxPool2d(1), nn.Flatten()),
    ), (torch.rand(2, 400),)


@needs()
def super_resolution() -> Made:
    layers = nn.Sequential(
        nn.Conv2d(3, 8, 3, padding=1, padding_mode="reflect"), nn.PReLU(), nn.Conv2d(8, 12, 3, padding=1)
    )
    return nn.Sequential(layers, nn.PixelShuffle(2), nn.Hardtanh(0, 1)), (image(12),)


@needs()
def style_transfer() -> Made:
    head = [nn.ReflectionPad2d(4), nn.Conv2d(3, 8, 9), nn.InstanceNorm2d(8, affine=True), nn.ReLU()]
    tail = [nn.Upsample(scale_factor=2, mode="nearest"), nn.ReflectionPad2d(1), nn.Conv2d(8, 3, 3), nn.Tanh()]
    return nn.Sequential(*head, nn.Conv2d(8, 8, 3, 2, 1), nn.GroupNorm(2, 8), nn.GELU(), *tail), (image(20),)


@needs()
def face_margin() -> Made:
    class Margin(Parts):
        def forward(self, x: torch.Tensor, person: torch.Tensor) -> torch.Tensor:
            cosine = F.linear(F.normalize(self.layers(x)), F.normalize(self.weight)).clamp(-1, 1)
            own = F.one_hot(person, 5)
            return 16 * torch.where(own.bool(), torch.cos(torch.acos(cosine) + 0.3), cosine)

    return Margin(layers=nn.Sequential(nn.Flatten(), nn.Linear(48, 8)), weight=nn.Parameter(torch.rand(5, 8))), (
        image(4, 2),
        torch.tensor([1, 3]),
    )


@needs("torchvision")
def box_decoder_with_nms() -> Made:
    import torchvision

    class Boxes(nn.Module):
        def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
            x = x.flatten(2).transpose(1, 2)[0]
            x[:, 2:4] = torch.exp(x[:, 2:4]) * 8.0
            scores, kind = x[:, 4:].sigmoid().max(1)
            boxes = torch.cat([x[:, :2] - x[:, 2:4] / 2, x[:, :2] + x[:, 2:4] / 2], 1)[scores > 0.6]
            kept = torchvision.ops.batched_nms(boxes, scores[scores > 0.6], kind[scores > 0.6], 0.5)[:10]
            return boxes[kept], kind[scores > 0.6][kept]

    return Boxes(), (image(6, 1, 7),)


@needs()
def coupling_flow() -> Made:
    class Coupling(Parts):
        def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
            first, second = x[:, self.order].chunk(2, 1)
            scale, shift = self.layers(first).chunk(2, 1)
            return torch.cat([first, second * torch.exp(scale.tanh()) + shift], 1), scale.tanh().sum(1)

    return Coupling(layers=nn.Sequential(nn.Linear(3, 8), nn.ReLU(), nn.Linear(8, 6)), order=torch.randperm(6)), (
        torch.rand(4, 6),
    )


@needs()
def recommender() -> Made:
    class Recommender(Parts):
        def forward(self, x: torch.Tensor, ids: torch.Tensor) -> torch.Tensor:
            parts = torch.stack([self.bottom(x), *[bag(ids[:, i]) for i, bag in enumerate(self.bags)]], 1)
            rows, columns = torch.tril_indices(4, 4, -1)
            pairs = torch.bmm(parts, parts.transpose(1, 2))[:, rows, columns]
            return self.top(torch.cat([parts[:, 0], pairs], 1)).sigmoid()

    return Recommender(
        bags=nn.ModuleList(nn.EmbeddingBag(20, 4, mode="sum") for _ in range(3)),
        bottom=nn.Linear(5, 4),
        top=nn.Linear(10, 1),
    ), (torch.rand(2, 5), torch.arange(18).reshape(2, 3, 3))


@needs()
def padded_encoder() -> Made:
    class Encoder(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            layer = nn.TransformerEncoderLayer(16, 4, 32, batch_first=True)
            self.words, self.layers = nn.Embedding(60, 16, padding_idx=0), nn.TransformerEncoder(layer, 2)

        def forward(self, ids: torch.Tensor) -> torch.Tensor:
            return self.layers(self.words(ids) * math.sqrt(16), src_key_padding_mask=ids == 0)

    return Encoder(), (F.pad(tokens(7, 2), (0, 2)),)


@needs()
def causal_transformer() -> Made:
    class Seq2Seq(Parts):
        def forward(self, source: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
            mask = nn.Transformer.generate_square_subsequent_mask(target.size(1))
            return self.model(self.words(source), self.words(target), tgt_mask=mask, tgt_is_causal=True)

    return Seq2Seq(words=nn.Embedding(60, 16), model=nn.Transformer(16, 4, 1, 1, 32, batch_first=True)), (
        tokens(7, 2),
        tokens(5, 2),
    )


@needs()
def policy_with_sampling() -> Made:
    class Policy(Parts):
        def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
            seen = ((x - self.mean) / (self.spread + 1e-8).sqrt()).clamp(-5, 5)
            mean, log_std = self.layers(seen).chunk(2, -1)
            return torch.tanh(mean), torch.distributions.Normal(mean, log_std.exp()).log_prob(mean).sum(-1)

    return Policy(layers=nn.Linear(4, 8), mean=torch.rand(4), spread=torch.rand(4) + 1), (torch.rand(3, 4),)


@needs()
def rotation_from_six_numbers() -> Made:
    class Rotation(nn.Module):
        def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
            first = F.normalize(x[:, :3], dim=1)
            second = F.normalize(x[:, 3:] - (first * x[:, 3:]).sum(1, keepdim=True) * first, dim=1)
            matrix = torch.stack([first, second, torch.cross(first, second, dim=1)], 2)
            return matrix, torch.atan2(matrix[:, 1, 0], matrix[:, 0, 0])

    return Rotation(), (torch.rand(4, 6) - 0.5,)


def run(name: str) -> str:
    """What building a model and running it comes to: ``ok``, or the error."""
    try:
        module, inputs = MODELS[name][0]()
        with torch.no_grad():
            module.eval()(*inputs)
    except Exception as error:  # whatever a package raises is the answer
        return traceback.format_exception_only(error)[-1].strip()
    return "ok"


def main() -> int:
    """Print the table; with ``--run`` what comes of each model."""
    said = {name: run(name) if "--run" in sys.argv else "" for name in MODELS}
    for name, (_, packages) in MODELS.items():
        print(f"{name:28} {', '.join(packages) or '-':24} {said[name]}")
    return 1 if any(word not in ("", "ok") for word in said.values()) else 0


if __name__ == "__main__":
    sys.exit(main())
