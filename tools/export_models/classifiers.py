"""Image classifiers of torchvision and transformers."""
import functools
from unittest import mock

import transformers
from torch import nn
from torchvision import models
from torchvision.models import inception, mnasnet
from torchvision.models.googlenet import BasicConv2d, Inception, InceptionAux
from torchvision.models.squeezenet import Fire

from catalog import Input, image, image_shapes, model
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


class _Beit(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.model = transformers.BeitModel(config, add_pooling_layer=False)

    def forward(self, image):
        return self.model(image, interpolate_pos_encoding=True).last_hidden_state


@model("beit", "batch height width", (2, 64, 96), image_shapes(33), exporters=("legacy",))
def beit(width):
    """Biases of relative positions are resized to the image."""
    if width == "narrow":
        config = transformers.BeitConfig(hidden_size=16, num_hidden_layers=2, num_attention_heads=2,
                                         intermediate_size=24, image_size=40, patch_size=8,
                                         use_relative_position_bias=True)
    else:
        config = transformers.BeitConfig(use_relative_position_bias=True)
    return randomize(_Beit(config)), [image()]


@model("maxvit", "batch", (2,), tuple((batch,) for batch in range(1, 9)))
def maxvit(width):
    """The image's size is fixed: it determines the windows."""
    size = 64 if width == "narrow" else 224
    if width == "narrow":
        module = models.MaxVit(input_size=(size, size), stem_channels=8, partition_size=2, block_channels=[8, 16],
                               block_layers=[1, 1], head_dim=4, stochastic_depth_prob=0.0, num_classes=_CLASSES)
    else:
        module = models.maxvit_t(weights=None)
    return randomize(module), [Input("image", "float32", ("batch", 3, size, size))]


class _Last(nn.Module):
    def __init__(self, inner):
        super().__init__()
        self.inner = inner

    def forward(self, image):
        return self.inner(image).last_hidden_state


_MULTIPLES_OF_32 = ((1, 32, 32), (1, 32, 96), (2, 64, 32), (3, 64, 96), (5, 32, 64), (1, 32, 224), (2, 128, 96),
                    (1, 256, 192))


@model("mobilevit", "batch height width", (2, 64, 96), _MULTIPLES_OF_32, exporters=("legacy",))
def mobilevit(width):
    """Sizes are rounded up in floating point: the legacy exporter writes that arithmetic."""
    config = transformers.MobileViTConfig()
    if width == "narrow":
        config = transformers.MobileViTConfig(hidden_sizes=[8, 8, 8], neck_hidden_sizes=[8, 8, 8, 8, 8, 8, 16],
                                              num_attention_heads=2, expand_ratio=2.0)
    return randomize(_Last(transformers.MobileViTModel(config, expand_output=False))), [image()]


def _narrowed(module, share):
    """Gives convolutions over 3 dims, their normalizations and linear layers a share of the channels; the module."""
    for name, part in module.named_children():
        if isinstance(part, nn.Conv3d):
            channels = [count if count == 3 else max(count // share, 1)
                        for count in (part.in_channels, part.out_channels)]
            setattr(module, name, nn.Conv3d(*channels, part.kernel_size, part.stride, part.padding, bias=False))
        elif isinstance(part, nn.BatchNorm3d):
            setattr(module, name, nn.BatchNorm3d(max(part.num_features // share, 1)))
        elif isinstance(part, nn.Linear):
            setattr(module, name, nn.Linear(part.in_features // share, part.out_features))
        else:
            _narrowed(part, share)
    return module


@model("r2plus1d", "batch frames height width", (2, 8, 32, 48),
       ((1, 3, 17, 19), (2, 4, 32, 33), (1, 8, 40, 21), (3, 5, 16, 16), (1, 16, 33, 47), (2, 2, 24, 25), (1, 7, 64, 50),
        (1, 1, 20, 31)))
def r2plus1d(width):
    """Convolutions of clips."""
    if width == "real":
        module = models.video.r2plus1d_18(weights=None)
    else:
        parts = models.video.resnet
        module = parts.VideoResNet(parts.BasicBlock, [parts.Conv2Plus1D] * 4, [1, 1, 1, 1], parts.R2Plus1dStem,
                                   num_classes=_CLASSES)
        module = _narrowed(module, 16)
    return randomize(module), [Input("clip", "float32", ("batch", 3, "frames", "height", "width"))]
