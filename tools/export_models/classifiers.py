"""Image classifiers of torchvision and transformers."""
import functools
from unittest import mock

import transformers
from torch import nn
from torchvision import models
from torchvision.models import inception, mnasnet
from torchvision.models.googlenet import BasicConv2d, Inception, InceptionAux
from torchvision.models.squeezenet import Fire

from catalog import image, image_shapes, model
from dense import NarrowResNet
from weights import randomize

_CLASSES = 10


def _classifier(name, least, traced=64):
    """Registers `build(narrow)` as a model of one image."""
    def register(build):
        @model(name, "batch height width", (2, traced, traced + 32), image_shapes(least))
        def registered(width):
            return randomize(build(width == "narrow")), [image()]

        return registered

    return register


@_classifier("shufflenet", 33)
def shufflenet(narrow):
    if narrow:
        return models.ShuffleNetV2([2, 3, 2], [8, 16, 32, 64, 64], num_classes=_CLASSES)
    return models.shufflenet_v2_x0_5(weights=None)


@_classifier("squeezenet", 33)
def squeezenet_1_1(narrow):
    if not narrow:
        return models.squeezenet1_1(weights=None)
    module = models.SqueezeNet("1_1", num_classes=_CLASSES)
    for i, part in enumerate(module.features):
        if isinstance(part, Fire):
            squeezed, expanded = part.squeeze.out_channels // 8, part.expand1x1.out_channels // 8
            inner = part.squeeze.in_channels // (1 if part.squeeze.in_channels == 64 else 8)
            module.features[i] = Fire(inner, squeezed, expanded, expanded)
    module.classifier[1] = nn.Conv2d(64, _CLASSES, kernel_size=1)
    return module


def _divided(block, divisor):
    """A convolution block with a share of the channels."""
    def narrow_block(in_channels, out_channels, **options):
        inner = in_channels if in_channels == 3 else in_channels // divisor
        return block(inner, out_channels // divisor, **options)

    return narrow_block


@_classifier("googlenet", 75, 96)
def googlenet_v1(narrow):
    if not narrow:
        return models.googlenet(weights=None, init_weights=False, aux_logits=False)
    conv = _divided(BasicConv2d, 16)
    blocks = [conv, functools.partial(Inception, conv_block=conv), InceptionAux]
    module = models.GoogLeNet(_CLASSES, aux_logits=False, init_weights=False, blocks=blocks)
    module.fc = nn.Linear(1024 // 16, _CLASSES)
    return module


@_classifier("inception", 75, 96)
def inception_v3(narrow):
    if not narrow:
        return models.inception_v3(weights=None, init_weights=False, aux_logits=False)
    conv = _divided(inception.BasicConv2d, 32)
    kinds = (inception.InceptionA, inception.InceptionB, inception.InceptionC, inception.InceptionD,
             inception.InceptionE)
    blocks = [conv, *(functools.partial(kind, conv_block=conv) for kind in kinds), inception.InceptionAux]
    module = models.Inception3(_CLASSES, aux_logits=False, init_weights=False, inception_blocks=blocks)
    module.fc = nn.Linear(2048 // 32, _CLASSES)
    return module


@_classifier("densenet", 33)
def densenet(narrow):
    if narrow:
        return models.DenseNet(growth_rate=4, block_config=(2, 3, 3, 2), num_init_features=8, bn_size=2,
                               num_classes=_CLASSES)
    return models.densenet121(weights=None)


@_classifier("resnet", 33)
def resnet(narrow):
    if not narrow:
        return models.resnet50(weights=None)
    module = NarrowResNet()
    module.fc = nn.Linear(2048 // NarrowResNet.SHARE, _CLASSES)
    return module


@_classifier("mobilenet_v3", 33)
def mobilenet_v3(narrow):
    if not narrow:
        return models.mobilenet_v3_small(weights=None)
    settings, _ = models.mobilenetv3._mobilenet_v3_conf("mobilenet_v3_small", width_mult=0.1)
    return models.MobileNetV3(settings, last_channel=64, num_classes=_CLASSES)


@_classifier("efficientnet", 33)
def efficientnet(narrow):
    if not narrow:
        return models.efficientnet_b0(weights=None)
    settings, _ = models.efficientnet._efficientnet_conf("efficientnet_b0", width_mult=0.1, depth_mult=0.3)
    return models.EfficientNet(settings, dropout=0.2, num_classes=_CLASSES)


@_classifier("regnet", 33)
def regnet(narrow):
    if not narrow:
        return models.regnet_y_400mf(weights=None)
    block = models.regnet.BlockParams.from_init_params(depth=6, w_0=8, w_a=8.0, w_m=2.0, group_width=8, se_ratio=0.25)
    return models.RegNet(block, num_classes=_CLASSES, stem_width=8)


@_classifier("mnasnet", 33)
def mnasnet_0_5(narrow):
    if not narrow:
        return models.mnasnet0_5(weights=None)
    with mock.patch.object(mnasnet, "_round_to_multiple_of", lambda value, divisor: max(4, round(value))):
        module = models.MNASNet(0.05, num_classes=_CLASSES)
    module.layers[14] = nn.Conv2d(module.layers[14].in_channels, 64, 1, bias=False)
    module.layers[15] = nn.BatchNorm2d(64)
    module.classifier[1] = nn.Linear(64, _CLASSES)
    return module


@_classifier("convnext", 33)
def convnext(narrow):
    if not narrow:
        return models.convnext_tiny(weights=None)
    stages = [models.convnext.CNBlockConfig(8, 12, 2), models.convnext.CNBlockConfig(12, 16, 2),
              models.convnext.CNBlockConfig(16, 24, 2), models.convnext.CNBlockConfig(24, None, 1)]
    return models.ConvNeXt(stages, layer_scale=0.5, num_classes=_CLASSES)


@_classifier("swin", 33)
def swin(narrow):
    if narrow:
        return models.SwinTransformer(patch_size=[4, 4], embed_dim=4, depths=[2, 2, 6, 2], num_heads=[1, 1, 2, 2],
                                      window_size=[5, 5], num_classes=_CLASSES)
    return models.swin_t(weights=None)


class _InterpolatedViT(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.model = transformers.ViTModel(config, add_pooling_layer=False)

    def forward(self, image):
        return self.model(image, interpolate_pos_encoding=True).last_hidden_state


@_classifier("vit", 33)
def vit(narrow):
    if narrow:
        config = transformers.ViTConfig(hidden_size=32, num_hidden_layers=2, num_attention_heads=2,
                                        intermediate_size=64, image_size=40, patch_size=8)
    else:
        config = transformers.ViTConfig()
    return _InterpolatedViT(config)
