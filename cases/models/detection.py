"""Images: detection, segmentation, video, optical flow."""

from caniexport.model.architectures import Architecture, Axis, floats
from caniexport.worker.architectures import make_cases

BATCH = Axis("batch", 2, 3)
_IMAGE = {"x": floats(BATCH, 3, 64, 64)}
#: deep networks with weights of our own answer hardly to a smaller one: the biases of their norms drown it
_WIDE = {"x": floats(BATCH, 3, 64, 64, low=-50.0, high=50.0)}
#: attention saturates with one as wide as that
_WIDE_10 = {"x": floats(BATCH, 3, 64, 64, low=-10.0, high=10.0)}
_LIST = {"images": floats(2, 3, 96, 96, low=0.0, high=1.0)}
_FLOW = {"image1": floats(BATCH, 3, 128, 128), "image2": floats(BATCH, 3, 128, 128)}

TABLE = [
    Architecture(
        "ssdlite320",
        "torchvision",
        "ssdlite320_mobilenet_v3_large",
        {"weights": None, "weights_backbone": None, "num_classes": 5, "score_thresh": 0.0, "detections_per_img": 8},
        _LIST,
        "images",
    ),
    Architecture(
        "lraspp",
        "torchvision",
        "lraspp_mobilenet_v3_large",
        {"weights": None, "weights_backbone": None, "num_classes": 5},
        _IMAGE,
        "positions",
    ),
    Architecture(
        "deeplabv3",
        "torchvision",
        "deeplabv3_mobilenet_v3_large",
        {"weights": None, "weights_backbone": None, "num_classes": 5, "aux_loss": False},
        _WIDE,
        "positions",
    ),
    Architecture(
        "s3d",
        "torchvision",
        "s3d",
        {"weights": None, "num_classes": 10},
        {"x": floats(BATCH, 3, 14, 224, 224, low=-50.0, high=50.0)},
        "positions",
    ),
    Architecture(
        "swin3d",
        "torchvision",
        "SwinTransformer3d",
        {
            "patch_size": [2, 4, 4],
            "embed_dim": 24,
            "depths": [2, 2],
            "num_heads": [2, 4],
            "window_size": [2, 4, 4],
            "num_classes": 10,
        },
        {"x": floats(BATCH, 3, 4, 64, 64)},
        "positions",
    ),
    Architecture("raft-small", "torchvision", "raft_small", {"weights": None}, _FLOW, "positions"),
    Architecture(
        "yolov5n", "ultralytics", "DetectionModel", {"cfg": "yolov5n.yaml", "verbose": False}, _WIDE, "positions"
    ),
    Architecture(
        "yolov6n", "ultralytics", "DetectionModel", {"cfg": "yolov6n.yaml", "verbose": False}, _WIDE, "positions"
    ),
    Architecture(
        "yolov8n", "ultralytics", "DetectionModel", {"cfg": "yolov8n.yaml", "verbose": False}, _WIDE, "positions"
    ),
    Architecture(
        "yolov8n-ghost",
        "ultralytics",
        "DetectionModel",
        {"cfg": "yolov8n-ghost.yaml", "verbose": False},
        _WIDE,
        "positions",
    ),
    Architecture(
        "yolov9t", "ultralytics", "DetectionModel", {"cfg": "yolov9t.yaml", "verbose": False}, _WIDE, "positions"
    ),
    Architecture(
        "yolov10n", "ultralytics", "DetectionModel", {"cfg": "yolov10n.yaml", "verbose": False}, _WIDE, "positions"
    ),
    Architecture(
        "yolo11n", "ultralytics", "DetectionModel", {"cfg": "yolo11n.yaml", "verbose": False}, _WIDE, "positions"
    ),
    Architecture(
        "yolo12n", "ultralytics", "DetectionModel", {"cfg": "yolo12n.yaml", "verbose": False}, _WIDE_10, "positions"
    ),
    Architecture(
        "yolo26n", "ultralytics", "DetectionModel", {"cfg": "yolo26n.yaml", "verbose": False}, _WIDE, "positions"
    ),
    Architecture(
        "yolov8n-seg",
        "ultralytics",
        "SegmentationModel",
        {"cfg": "yolov8n-seg.yaml", "verbose": False},
        _WIDE,
        "positions",
    ),
    Architecture(
        "yolo11n-seg",
        "ultralytics",
        "SegmentationModel",
        {"cfg": "yolo11n-seg.yaml", "verbose": False},
        _WIDE,
        "positions",
    ),
    Architecture(
        "yolov8n-pose", "ultralytics", "PoseModel", {"cfg": "yolov8n-pose.yaml", "verbose": False}, _WIDE, "positions"
    ),
    Architecture(
        "yolo11n-pose", "ultralytics", "PoseModel", {"cfg": "yolo11n-pose.yaml", "verbose": False}, _WIDE, "positions"
    ),
    Architecture(
        "yolo11n-obb", "ultralytics", "OBBModel", {"cfg": "yolo11n-obb.yaml", "verbose": False}, _WIDE, "positions"
    ),
    Architecture(
        "yolov8n-cls",
        "ultralytics",
        "ClassificationModel",
        {"cfg": "yolov8n-cls.yaml", "verbose": False},
        _WIDE,
        "positions",
    ),
    Architecture(
        "yolo11n-cls",
        "ultralytics",
        "ClassificationModel",
        {"cfg": "yolo11n-cls.yaml", "verbose": False},
        _WIDE,
        "positions",
    ),
    Architecture(
        "unet",
        "segmentation_models_pytorch",
        "Unet",
        {
            "encoder_name": "timm-mobilenetv3_small_minimal_100",
            "encoder_weights": None,
            "decoder_channels": [64, 32, 16, 16, 8],
        },
        _IMAGE,
        "positions",
    ),
    Architecture(
        "unet-mobilenetv2",
        "segmentation_models_pytorch",
        "Unet",
        {"encoder_name": "mobilenet_v2", "encoder_weights": None, "decoder_channels": [64, 32, 16, 16, 8]},
        _IMAGE,
        "positions",
    ),
    Architecture(
        "unet-timm",
        "segmentation_models_pytorch",
        "Unet",
        {"encoder_name": "tu-mobilenetv3_small_050", "encoder_weights": None, "decoder_channels": [64, 32, 16, 16, 8]},
        _IMAGE,
        "positions",
    ),
    Architecture(
        "unet-scse",
        "segmentation_models_pytorch",
        "Unet",
        {
            "encoder_name": "timm-mobilenetv3_small_minimal_100",
            "encoder_weights": None,
            "decoder_channels": [64, 32, 32, 16, 16],
            "decoder_attention_type": "scse",
        },
        _IMAGE,
        "positions",
    ),
    Architecture(
        "unetplusplus",
        "segmentation_models_pytorch",
        "UnetPlusPlus",
        {
            "encoder_name": "timm-mobilenetv3_small_minimal_100",
            "encoder_weights": None,
            "decoder_channels": [64, 32, 16, 16, 8],
        },
        _IMAGE,
        "positions",
    ),
    Architecture(
        "manet",
        "segmentation_models_pytorch",
        "MAnet",
        {
            "encoder_name": "timm-mobilenetv3_small_minimal_100",
            "encoder_weights": None,
            "decoder_channels": [64, 32, 16, 16, 8],
        },
        _IMAGE,
        "positions",
    ),
    Architecture(
        "linknet",
        "segmentation_models_pytorch",
        "Linknet",
        {"encoder_name": "timm-mobilenetv3_small_minimal_100", "encoder_weights": None},
        _IMAGE,
        "positions",
    ),
    Architecture(
        "fpn",
        "segmentation_models_pytorch",
        "FPN",
        {
            "encoder_name": "timm-mobilenetv3_small_minimal_100",
            "encoder_weights": None,
            "decoder_pyramid_channels": 32,
            "decoder_segmentation_channels": 32,
        },
        _IMAGE,
        "positions",
    ),
    Architecture(
        "pspnet",
        "segmentation_models_pytorch",
        "PSPNet",
        {"encoder_name": "timm-mobilenetv3_small_minimal_100", "encoder_weights": None, "psp_out_channels": 32},
        _IMAGE,
        "positions",
    ),
    Architecture(
        "pan",
        "segmentation_models_pytorch",
        "PAN",
        {"encoder_name": "timm-mobilenetv3_small_minimal_100", "encoder_weights": None, "decoder_channels": 16},
        {"x": floats(BATCH, 3, 128, 128)},
        "positions",
    ),
    Architecture(
        "deeplabv3",
        "segmentation_models_pytorch",
        "DeepLabV3",
        {"encoder_name": "mobilenet_v2", "encoder_weights": None, "decoder_channels": 32},
        _WIDE,
        "positions",
    ),
    Architecture(
        "deeplabv3plus",
        "segmentation_models_pytorch",
        "DeepLabV3Plus",
        {"encoder_name": "mobilenet_v2", "encoder_weights": None, "decoder_channels": 32},
        _IMAGE,
        "positions",
    ),
    Architecture(
        "segformer",
        "segmentation_models_pytorch",
        "Segformer",
        {"encoder_name": "mit_b0", "encoder_weights": None, "decoder_segmentation_channels": 32},
        _IMAGE,
        "positions",
    ),
    Architecture(
        "upernet",
        "segmentation_models_pytorch",
        "UPerNet",
        {"encoder_name": "timm-mobilenetv3_small_minimal_100", "encoder_weights": None, "decoder_channels": 32},
        _IMAGE,
        "positions",
    ),
]
globals().update(make_cases(TABLE, __name__))
