"""The four-quadrant arctangent of jit as a differentiable function of PyTorch, like EnokiAtan2 of Enoki's documentation."""

import jit_torch
import torch


def lend(tensor):
    """Returns a capsule of DLPack: the memory of the tensor, without a copy."""
    return tensor.detach().resolve_neg().__dlpack__(max_version=(1, 1))


def own(capsule):
    """Returns a tensor of a capsule. Its memory is lent for reading, and tensors of PyTorch can be written: a copy."""
    return torch.from_dlpack(capsule).clone()


class JitAtan2(torch.autograd.Function):
    """`JitAtan2.apply(y, x)`: the angles of the points (x, y), in radians."""

    @staticmethod
    def forward(ctx, y, x):
        torch.broadcast_shapes(y.shape, x.shape)  # the error of PyTorch, where they do not fit
        ctx.save_for_backward(y, x)
        return own(jit_torch.forward(lend(y), lend(x)))

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx, gradient):
        y, x = ctx.saved_tensors
        capsules = jit_torch.backward(lend(y), lend(x), lend(gradient))
        return tuple(own(capsule) if needed else None for capsule, needed in zip(capsules, ctx.needs_input_grad))


def atan2(y, x):
    return JitAtan2.apply(y, x)
