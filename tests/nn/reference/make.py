"""Makes the numbers that layers and losses are compared with, by PyTorch in double precision.

    python3 make.py        (with the packages torch 2.15 and numpy)

Each line of cases.txt is an array: the case, the name, the shape, and the elements. Inputs are the first ones of a case,
`param.*` and `buffer.*` are the state of the module, `out` is the result, `after.*` are buffers after the call, and
`grad.*` are the derivatives of the sum of all results, each times the sine of its number.
"""
import math
import torch
from torch import nn
import torch.nn.functional as F

torch.set_default_dtype(torch.float64)
torch.manual_seed(1)
lines = []


def put(case, name, tensor):
    tensor = tensor.detach()
    shape = "x".join(str(n) for n in tensor.shape) or "-"
    numbers = tensor.reshape(-1).to(torch.float64).tolist()
    lines.append(f"{case} {name} {shape} " + " ".join(repr(x) for x in numbers))


def weights_of(out):
    return torch.sin(torch.arange(out.numel(), dtype=torch.float64)).reshape(out.shape)


def case(name, call, inputs, module=None):
    """Records a call on named inputs; floats are differentiated."""
    inputs = {key: value.clone() for key, value in inputs.items()}
    for key, value in inputs.items():
        put(name, key, value)
        if value.is_floating_point():
            value.requires_grad_()
    if module is not None:
        for key, value in module.named_parameters():
            put(name, "param." + key, value)
        for key, value in module.named_buffers():
            put(name, "buffer." + key, value)
    out = call(*inputs.values())
    put(name, "out", out)
    (out * weights_of(out)).sum().backward()
    for key, value in inputs.items():
        if value.is_floating_point():
            put(name, "grad." + key, value.grad)
    if module is not None:
        for key, value in module.named_parameters():
            put(name, "grad." + key, value.grad if value.grad is not None else torch.zeros_like(value))
        for key, value in module.named_buffers():
            put(name, "after." + key, value)


def layer(name, module, *shapes):
    inputs = {f"x{i}": torch.randn(*shape) for i, shape in enumerate(shapes)}
    case(name, module, inputs, module)


def activations():
    x = {"x": torch.tensor([-30.0, -3.0, -1.0, -0.25, 0.5, 1.0, 2.5, 40.0])}
    for name, function in {
        "relu": F.relu, "leaky_relu": lambda x: F.leaky_relu(x, 0.2), "elu": lambda x: F.elu(x, 0.7), "selu": F.selu,
        "gelu": F.gelu, "gelu_tanh": lambda x: F.gelu(x, approximate="tanh"), "silu": F.silu, "mish": F.mish,
        "softplus": lambda x: F.softplus(x, 1.5, 1e9), "hardtanh": lambda x: F.hardtanh(x, -0.75, 2.0),
        "sigmoid": torch.sigmoid, "tanh": torch.tanh,
    }.items():
        case(name, function, x)
    x = {"x": torch.randn(3, 4, 2) * 3}
    case("softmax", lambda x: F.softmax(x, 1), x)
    case("log_softmax", lambda x: F.log_softmax(x, -1), x)


def losses():
    pair = {"x": torch.randn(4, 3), "y": torch.randn(4, 3)}
    for reduction in ["none", "sum", "mean"]:
        case(f"mse.{reduction}", lambda x, y: F.mse_loss(x, y, reduction=reduction), pair)
        case(f"l1.{reduction}", lambda x, y: F.l1_loss(x, y, reduction=reduction), pair)
        case(f"huber.{reduction}", lambda x, y: F.huber_loss(x, y, reduction=reduction, delta=0.6), pair)
        case(f"smooth_l1.{reduction}", lambda x, y: F.smooth_l1_loss(x, y, reduction=reduction, beta=0.6), pair)
        logits, targets = torch.randn(5, 4) * 2, torch.tensor([0, 3, 1, 3, 2])
        some = {"x": logits, "y": targets}
        w = torch.tensor([0.5, 1.0, 2.0, 0.25])
        case(f"cross_entropy.{reduction}", lambda x, y: F.cross_entropy(x, y, reduction=reduction), some)
        case(f"cross_entropy_all.{reduction}", lambda x, y: F.cross_entropy(
            x, y, weight=w, ignore_index=1, label_smoothing=0.2, reduction=reduction), some)
        case(f"cross_entropy_ignored.{reduction}", lambda x, y: F.cross_entropy(
            x, y, ignore_index=1, label_smoothing=0.2, reduction=reduction), some)
        case(f"cross_entropy_weights.{reduction}", lambda x, y: F.cross_entropy(
            x, y, weight=w, label_smoothing=0.2, reduction=reduction), some)
        case(f"nll.{reduction}", lambda x, y: F.nll_loss(F.log_softmax(x, 1), y, weight=w, reduction=reduction), some)
        deep = {"x": torch.randn(2, 3, 2, 2), "y": torch.tensor([[[0, 2], [1, 1]], [[2, 2], [0, 1]]])}
        case(f"cross_entropy_deep.{reduction}", lambda x, y: F.cross_entropy(x, y, reduction=reduction), deep)
        soft = {"x": torch.randn(3, 4), "y": torch.softmax(torch.randn(3, 4), 1)}
        case(f"cross_entropy_soft.{reduction}", lambda x, y: F.cross_entropy(
            x, y, weight=w, label_smoothing=0.1, reduction=reduction), soft)
        chance = {"x": torch.rand(3, 4), "y": torch.rand(3, 4)}
        case(f"bce.{reduction}", lambda x, y: F.binary_cross_entropy(x, y, reduction=reduction), chance)
        odds = {"x": torch.tensor([-50.0, -2.0, 0.5, 60.0]), "y": torch.tensor([0.0, 0.25, 1.0, 0.5])}
        case(f"bce_logits.{reduction}", lambda x, y: F.binary_cross_entropy_with_logits(
            x, y, pos_weight=torch.tensor(1.5), reduction=reduction), odds)
    for reduction in ["none", "sum", "mean", "batchmean"]:
        kl = {"x": F.log_softmax(torch.randn(3, 4), 1), "y": F.softmax(torch.randn(3, 4), 1)}
        case(f"kl.{reduction}", lambda x, y: F.kl_div(x, y, reduction=reduction), kl)
        kl = {"x": kl["x"], "y": kl["y"].log()}
        case(f"kl_log.{reduction}", lambda x, y: F.kl_div(x, y, reduction=reduction, log_target=True), kl)


def linear():
    layer("linear", nn.Linear(3, 4), (5, 3))
    layer("linear_deep", nn.Linear(3, 4, bias=False), (2, 5, 3))
    layer("linear_row", nn.Linear(3, 2), (3,))
    layer("bilinear", nn.Bilinear(3, 2, 4), (5, 3), (5, 2))


def with_statistics(module):
    """Another state than the first one."""
    module.running_mean.copy_(torch.randn_like(module.running_mean))
    module.running_var.copy_(torch.rand_like(module.running_var) + 0.5)
    nn.init.normal_(module.weight)
    nn.init.normal_(module.bias)
    return module


def norms():
    layer("batch_norm_1", with_statistics(nn.BatchNorm1d(3)), (5, 3))
    layer("batch_norm_1_long", with_statistics(nn.BatchNorm1d(3)), (2, 3, 4))
    layer("batch_norm_2", with_statistics(nn.BatchNorm2d(2)), (3, 2, 2, 3))
    layer("batch_norm_2_eval", with_statistics(nn.BatchNorm2d(2)).eval(), (3, 2, 2, 3))
    layer("batch_norm_3", with_statistics(nn.BatchNorm3d(2, momentum=None)), (2, 2, 2, 1, 3))


def convolutions():
    layer("conv_1", nn.Conv1d(2, 3, 3, padding=1, stride=2), (2, 2, 7))
    layer("conv_2", nn.Conv2d(2, 3, (3, 2), padding=(2, 1)), (2, 2, 5, 4))
    layer("conv_2_dilated", nn.Conv2d(2, 2, (3, 2), dilation=(2, 3), padding=(2, 1), bias=False), (1, 2, 6, 5))
    layer("conv_2_grouped", nn.Conv2d(4, 6, 3, groups=2, padding=1, stride=2), (2, 4, 5, 4))
    layer("conv_3", nn.Conv3d(2, 2, 2), (1, 2, 3, 3, 4))


if __name__ == "__main__":
    activations()
    losses()
    linear()
    norms()
    convolutions()
    with open("cases.txt", "w") as file:
        file.write("\n".join(lines) + "\n")
