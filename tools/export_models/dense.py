"""Models whose outputs are maps, with dynamic sizes: a feature pyramid, U-Net, DeepLabV3 and SegFormer."""
import collections

import torch
import transformers
from torch import nn
from torch.nn import functional
from torchvision import models, ops
from torchvision.models import resnet
from torchvision.models.segmentation import deeplabv3

from catalog import image, image_shapes, model
from weights import randomize


class NarrowResNet(models.ResNet):
    """A ResNet of bottlenecks, one a stage, with a share of the channels after the stem."""
    SHARE = 32

    def __init__(self, **options):
        super().__init__(resnet.Bottleneck, [1, 1, 1, 1], num_classes=1, **options)
        self.fc = nn.Identity()

    def _make_layer(self, block, planes, *arguments, **options):
        return super()._make_layer(block, planes // self.SHARE, *arguments, **options)


def pyramid_backbone(narrow, first_stage, out_channels, extra_blocks):
    """A ResNet-50 or its narrow form with a feature pyramid over the stages from `first_stage` on."""
    body = NarrowResNet() if narrow else models.resnet50(weights=None)
    stages = range(first_stage, 5)
    channels = [(256 // (NarrowResNet.SHARE if narrow else 1)) * 2 ** (stage - 1) for stage in stages]
    layers = {f"layer{stage}": str(i) for i, stage in enumerate(stages)}
    return models.detection.backbone_utils.BackboneWithFPN(body, layers, channels, out_channels, extra_blocks)


class _Pyramid(nn.Module):
    def __init__(self, backbone):
        super().__init__()
        self.backbone = backbone

    def forward(self, image):
        return tuple(self.backbone(image).values())


@model("fpn", "batch height width", (2, 96, 128), image_shapes(33))
def fpn(width):
    narrow = width == "narrow"
    backbone = pyramid_backbone(narrow, 1, 8 if narrow else 256, ops.feature_pyramid_network.LastLevelMaxPool())
    return randomize(_Pyramid(backbone)), [image()]


def _double_convolution(inner, outer):
    layers = collections.OrderedDict()
    for i, channels in enumerate((inner, outer)):
        layers[f"conv{i}"] = nn.Conv2d(channels, outer, 3, padding=1, bias=False)
        layers[f"norm{i}"] = nn.BatchNorm2d(outer)
        layers[f"relu{i}"] = nn.ReLU()
    return nn.Sequential(layers)


class UNet(nn.Module):
    """The U-Net of Ronneberger et al. with padded convolutions. Maps on the way up are resized to those kept on the way
    down, so height and width need not be multiples of 16."""
    def __init__(self, channels, classes):
        super().__init__()
        self.down = nn.ModuleList(map(_double_convolution, (3, *channels[:-1]), channels))
        self.reduce = nn.ModuleList(nn.Conv2d(inner, outer, 1) for outer, inner in zip(channels, channels[1:]))
        self.up = nn.ModuleList(_double_convolution(2 * outer, outer) for outer in channels[:-1])
        self.classify = nn.Conv2d(channels[0], classes, 1)

    def forward(self, image):
        kept, x = [], image
        for i, stage in enumerate(self.down):
            x = stage(functional.max_pool2d(x, 2) if i else x)
            kept.append(x)
        for i in reversed(range(len(self.up))):
            x = functional.interpolate(self.reduce[i](x), size=kept[i].shape[-2:], mode="bilinear", align_corners=False)
            x = self.up[i](torch.cat([kept[i], x], dim=1))
        return self.classify(x)


@model("unet", "batch height width", (2, 64, 96), image_shapes(17))
def unet(width):
    channels = (8, 8, 16, 16, 16) if width == "narrow" else (64, 128, 256, 512, 1024)
    return randomize(UNet(channels, 5)), [image()]


class _DeepLab(nn.Module):
    def __init__(self, inner):
        super().__init__()
        self.inner = inner

    def forward(self, image):
        return self.inner(image)["out"]


@model("deeplab_v3", "batch height width", (2, 96, 128), image_shapes(33))
def deeplab_v3(width):
    """The last two stages of the backbone are dilated instead of strided; the head's rates exceed most maps."""
    if width == "real":
        module = models.segmentation.deeplabv3_resnet50(weights=None, weights_backbone=None)
        return randomize(_DeepLab(module)), [image()]
    body = NarrowResNet(replace_stride_with_dilation=[False, True, True])
    backbone = models._utils.IntermediateLayerGetter(body, {"layer4": "out"})
    pyramid = deeplabv3.ASPP(2048 // NarrowResNet.SHARE, [12, 24, 36], 8)
    head = nn.Sequential(pyramid, nn.Conv2d(8, 8, 3, padding=1, bias=False), nn.BatchNorm2d(8), nn.ReLU(),
                         nn.Conv2d(8, 5, 1))
    return randomize(_DeepLab(models.segmentation.DeepLabV3(backbone, head))), [image()]


class _Segformer(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.inner = transformers.SegformerForSemanticSegmentation(config)

    def forward(self, image):
        return self.inner(image).logits


@model("segformer", "batch height width", (2, 96, 128), image_shapes(33))
def segformer(width):
    config = transformers.SegformerConfig()  # mit-b0
    if width == "narrow":
        config = transformers.SegformerConfig(hidden_sizes=[8, 8, 16, 16], depths=[1, 1, 1, 1],
                                              num_attention_heads=[1, 1, 2, 2], decoder_hidden_size=16)
    return randomize(_Segformer(config)), [image()]
