"""Detectors: their networks with free sizes ("retinanet", "ssdlite"), whole ("_whole": one image, with resizing, boxes
and suppression; dynamo refuses its data-dependent sizes), Faster R-CNN, and three forms of DETR."""
import functools
from unittest import mock

import transformers
from torch import nn
from torchvision import models, ops
from torchvision.models.detection import faster_rcnn, image_list, ssdlite

from catalog import Input, image, image_shapes, model
from dense import pyramid_backbone
from weights import randomize

_CLASSES = 5


def _retinanet(narrow):
    if not narrow:
        return models.detection.retinanet_resnet50_fpn(weights=None, weights_backbone=None)
    extra = ops.feature_pyramid_network.LastLevelP6P7(8, 8)
    return models.detection.RetinaNet(pyramid_backbone(True, 2, 8, extra), _CLASSES, min_size=256, max_size=400)


def _ssdlite(narrow):
    build = functools.partial(models.detection.ssdlite320_mobilenet_v3_large, weights=None, weights_backbone=None)
    if not narrow:
        return build()
    wide = ssdlite._extra_block

    def extra_block(inner, outer, norm_layer):
        return wide(inner // 16 if inner in (256, 512) else inner, outer // 16, norm_layer)

    with mock.patch.object(ssdlite, "_extra_block", extra_block):
        return build(width_mult=0.05, num_classes=_CLASSES)


# Exporters take a dim size of 1 at the traced shape for a constant: the coarsest maps have 2 x 2 there.
class _Network(nn.Module):
    """Logits, box regressions and anchors of a detector, for a batch of images of one size."""
    def __init__(self, detector):
        super().__init__()
        self.backbone, self.head, self.anchors = detector.backbone, detector.head, detector.anchor_generator

    def forward(self, image):
        features = list(self.backbone(image).values())
        heads = self.head(features)
        sizes = [(image.shape[-2], image.shape[-1])]
        anchors, = self.anchors(image_list.ImageList(image[:1], sizes), features)
        return heads["cls_logits"], heads["bbox_regression"], anchors


class _Whole(nn.Module):
    """Boxes, scores and labels of one image."""
    def __init__(self, detector):
        super().__init__()
        self.detector = detector

    def forward(self, image):
        found, = self.detector([image])
        return found["boxes"], found["scores"], found["labels"]


_ONE = [Input("image", "float32", (3, "height", "width"))]
# With the weights of seed 0, no overlap of boxes at these sizes is the threshold of suppression but for rounding.
_ONE_SHAPES = tuple(shape[1:] for shape in image_shapes(51))


@model("retinanet", "batch height width", (2, 384, 512), image_shapes(33))
def retinanet(width):
    return randomize(_Network(_retinanet(width == "narrow"))), [image()]


@model("retinanet_whole", "height width", (96, 128), _ONE_SHAPES, exporters=("legacy",), unordered=True)
def retinanet_whole(width):
    return randomize(_Whole(_retinanet(width == "narrow"))), _ONE


@model("ssdlite", "batch height width", (2, 640, 704), image_shapes(33))
def ssdlite_network(width):
    return randomize(_Network(_ssdlite(width == "narrow"))), [image()]


@model("ssdlite_whole", "height width", (96, 128), _ONE_SHAPES, exporters=("legacy",), unordered=True)
def ssdlite_whole(width):
    return randomize(_Whole(_ssdlite(width == "narrow"))), _ONE


def _faster_rcnn(narrow):
    if not narrow:
        return models.detection.fasterrcnn_resnet50_fpn(weights=None, weights_backbone=None)
    backbone = pyramid_backbone(True, 1, 8, ops.feature_pyramid_network.LastLevelMaxPool())
    return models.detection.FasterRCNN(backbone, min_size=256, max_size=400, rpn_pre_nms_top_n_test=200,
                                       rpn_post_nms_top_n_test=50, box_detections_per_img=20,
                                       box_head=faster_rcnn.TwoMLPHead(8 * 7 * 7, 32),
                                       box_predictor=faster_rcnn.FastRCNNPredictor(32, _CLASSES))


# As of _ONE_SHAPES; onnxruntime is within 5e-5 of itself without optimizations.
_TWO_STAGE_SHAPES = ((62, 62), (73, 106), (75, 44), (58, 64), (49, 50), (57, 217), (160, 128), (240, 207))


@model("faster_rcnn", "height width", (96, 128), _TWO_STAGE_SHAPES, exporters=("legacy",), unordered=True)
def faster_rcnn_whole(width):
    return randomize(_Whole(_faster_rcnn(width == "narrow"))), _ONE


class _Detr(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.model = transformers.DetrForObjectDetection(config)

    def forward(self, image, mask):
        found = self.model(pixel_values=image, pixel_mask=mask)
        return found.logits, found.pred_boxes


@model("detr", "batch height width", (2, 96, 128), image_shapes(33))
def detr(width):
    stages = [f"stage{i}" for i in range(1, 5)]
    if width == "narrow":
        backbone = transformers.ResNetConfig(embedding_size=8, hidden_sizes=[16, 16, 32, 32], depths=[1, 1, 1, 1],
                                             out_features=stages[-1:])
        config = transformers.DetrConfig(use_timm_backbone=False, backbone_config=backbone, num_queries=7, d_model=32,
                                         encoder_layers=1, decoder_layers=2, encoder_attention_heads=2,
                                         decoder_attention_heads=2, encoder_ffn_dim=48, decoder_ffn_dim=48,
                                         num_labels=_CLASSES)
    else:
        config = transformers.DetrConfig(use_timm_backbone=False,
                                         backbone_config=transformers.ResNetConfig(out_features=stages[-1:]))
    return randomize(_Detr(config)), [image(), Input("mask", "int64", ("batch", "height", "width"), "ones")]


class _Boxes(nn.Module):
    def __init__(self, inner):
        super().__init__()
        self.inner = inner

    def forward(self, image):
        found = self.inner(image)
        return found.logits, found.pred_boxes


def _sizes_of_detr(width):
    return dict(num_queries=7, d_model=32, encoder_layers=1, decoder_layers=2, encoder_attention_heads=2,
                decoder_attention_heads=2, encoder_ffn_dim=24, decoder_ffn_dim=24, num_labels=_CLASSES,
                num_feature_levels=3) if width == "narrow" else {}


# Of a map with one row or column, the legacy export divides 0 by 0.
@model("deformable_detr", "batch height width", (2, 128, 192), image_shapes(65), exporters=("legacy",))
def deformable_detr(width):
    """Attention that samples a few places of each map."""
    stages = ["stage2", "stage3", "stage4"]
    narrow = dict(embedding_size=8, hidden_sizes=[8, 8, 8, 16], depths=[1, 1, 1, 1]) if width == "narrow" else {}
    config = transformers.DeformableDetrConfig(use_timm_backbone=False, **_sizes_of_detr(width),
                                               backbone_config=transformers.ResNetConfig(out_features=stages, **narrow))
    return randomize(_Boxes(transformers.DeformableDetrForObjectDetection(config))), [image()]


@model("rt_detr", "batch height width", (2, 96, 128),
       ((1, 64, 64), (1, 64, 96), (2, 96, 64), (3, 64, 96), (5, 64, 64), (1, 64, 224), (2, 160, 128), (1, 256, 224)))
def rt_detr(width):
    """The queries are the places of the image with the highest scores."""
    config = transformers.RTDetrConfig(num_denoising=0)
    if width == "narrow":
        stages = ["stage2", "stage3", "stage4"]
        backbone = transformers.RTDetrResNetConfig(embedding_size=8, hidden_sizes=[8, 8, 8, 16], depths=[1, 1, 1, 1],
                                                   layer_type="basic", out_features=stages)
        config = transformers.RTDetrConfig(backbone_config=backbone, encoder_in_channels=[8, 8, 16],
                                           encoder_hidden_dim=8, encoder_ffn_dim=16, encoder_attention_heads=2,
                                           d_model=8, num_queries=7, decoder_in_channels=[8, 8, 8], decoder_ffn_dim=16,
                                           decoder_attention_heads=2, decoder_layers=2, num_denoising=0,
                                           num_labels=_CLASSES)
    return randomize(_Boxes(transformers.RTDetrForObjectDetection(config))), [image()]
