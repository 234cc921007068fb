"""Random weights with which every part of a model affects the result, unlike most initializers of the libraries."""
import torch
from torch import nn
from torch.nn.utils import parametrize
from transformers.pytorch_utils import Conv1D


@torch.no_grad()
def randomize(module, seed=0):
    """Sets weights, biases and running statistics from `seed`; returns the module, for inference."""
    torch.manual_seed(seed)
    for part in module.modules():
        if isinstance(part, (nn.Linear, nn.modules.conv._ConvNd)) and not parametrize.is_parametrized(part):
            fan_in = part.weight[0].numel()
            part.weight.normal_(std=fan_in ** -0.5)
            if part.bias is not None:
                part.bias.normal_(std=0.1)
        elif isinstance(part, Conv1D):  # which holds its weights transposed
            part.weight.normal_(std=len(part.weight) ** -0.5)
            part.bias.normal_(std=0.1)
        elif isinstance(part, nn.RNNBase):
            for parameter in part.parameters():
                parameter.normal_(std=0.3)
        elif isinstance(part, nn.Embedding):
            part.weight.normal_()
        elif type(part).__name__.endswith("RMSNorm"):
            part.weight.uniform_(0.8, 1.2)
        elif isinstance(part, (nn.LayerNorm, nn.GroupNorm, nn.modules.batchnorm._BatchNorm)):
            _randomize_normalization(part)
    return module.eval()


def _randomize_normalization(part):
    if part.weight is not None:
        part.weight.uniform_(0.8, 1.2)
        part.bias.normal_(std=0.1)
    if getattr(part, "running_mean", None) is not None:
        part.running_mean.normal_(std=0.1)
        part.running_var.uniform_(0.8, 1.2)
