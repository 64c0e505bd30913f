"""Compares values and gradients of `atan2.py` with PyTorch's own atan2: `python test_atan2.py`."""

import jit_torch
import torch

from atan2 import JitAtan2, atan2, lend


def inputs(shape_y, shape_x, dtype=torch.float32):
    make = lambda shape: torch.randn(shape, dtype=dtype).requires_grad_()
    return make(shape_y), make(shape_x)


def gradients(function, y, x, weight):
    return torch.autograd.grad((function(y, x) * weight).sum(), [y, x])


def same(y, x):
    wanted = torch.atan2(y, x)
    torch.testing.assert_close(atan2(y, x), wanted)
    weight = torch.randn_like(wanted)
    torch.testing.assert_close(gradients(atan2, y, x, weight), gradients(torch.atan2, y, x, weight))


def test_the_numbers_of_the_documentation():
    y, x = torch.tensor(1.0, requires_grad=True), torch.tensor(2.0, requires_grad=True)
    angle = atan2(y, x)
    angle.backward()
    torch.testing.assert_close(angle.item(), 0.4636476, rtol=0, atol=1e-6)
    torch.testing.assert_close([y.grad.item(), x.grad.item()], [0.4, -0.2], rtol=0, atol=1e-6)


def test_values_and_gradients_are_those_of_pytorch():
    for dtype in (torch.float32, torch.float64):
        for shapes in [((1000,), (1000,)), ((), ()), ((3, 4), (3, 4)), ((3, 4), (4,)), ((3, 1), (1, 5)), ((7,), ())]:
            same(*inputs(*shapes, dtype))


def test_numerical_derivatives():
    assert torch.autograd.gradcheck(atan2, inputs((3, 4), (4,), torch.float64))


def test_layouts_of_every_kind():
    y, x = inputs((6, 8), (8, 6))
    same(y[1:, ::2].t(), x[:4, 1:])
    same(y.flip(0), x.t())
    same(y[:1].expand(6, 8), x.t())


def test_tensors_without_elements():
    y, x = inputs((0, 3), (0, 3))
    assert atan2(y, x).shape == (0, 3)


def test_inputs_that_need_no_gradient_get_none():
    y, x = inputs((5,), (5,))
    angle = atan2(y, x.detach())
    angle.sum().backward()
    torch.testing.assert_close(y.grad, x.detach() / (x * x + y * y).detach())
    assert not JitAtan2.apply(y.detach(), x.detach()).requires_grad


def test_results_can_be_written():
    y, x = inputs((5,), (5,))
    first, second = atan2(y, x).detach(), atan2(y, x).detach()
    first.zero_()
    torch.testing.assert_close(second, torch.atan2(y, x).detach())


def test_two_uses_in_one_graph():
    y, x = inputs((16,), (16,))
    chain = lambda function: (lambda y, x: function(function(y, x).sin() + 2, x) * function(x, y))
    weight = torch.randn(16)
    torch.testing.assert_close(gradients(chain(atan2), y, x, weight), gradients(chain(torch.atan2), y, x, weight))


def train(function):
    torch.manual_seed(1)
    layer = torch.nn.Linear(3, 2)
    optimizer = torch.optim.SGD(layer.parameters(), lr=0.3)
    points = torch.randn(64, 3)
    target = points[:, 0].tanh()
    losses = []
    for _ in range(30):
        loss = (function(*layer(points).unbind(1)) - target).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses


def test_training_is_that_of_pytorch():
    before = jit_torch.recordings()
    losses = train(atan2)
    assert jit_torch.recordings() - before <= 2, "later steps replay the first one"
    torch.testing.assert_close(losses, train(torch.atan2), rtol=1e-3, atol=1e-4)
    assert losses[-1] < 0.5 * losses[0], losses


def test_aligned_memory_is_read_in_place():
    aligned = torch.zeros(1000)
    assert jit_torch.transfer(lend(aligned)) == "in place", aligned.data_ptr()
    assert jit_torch.transfer(lend(aligned[1:])) == "copied: the memory does not begin at a multiple of 64 bytes"


def refuses(function, part):
    try:
        function()
    except (RuntimeError, TypeError, ValueError) as error:
        assert part in str(error), error
    else:
        raise AssertionError(f"no error with {part!r}")


def test_what_is_refused():
    half, single, double = (torch.ones(2, dtype=dtype) for dtype in (torch.float16, torch.float32, torch.float64))
    refuses(lambda: atan2(half, half), "float32 or float64, and got one of f16")
    refuses(lambda: atan2(single, double), "elements of type f64, not f32")
    refuses(lambda: atan2(torch.ones(2), torch.ones(3)), "broadcast")
    capsule = lend(single)
    jit_torch.forward(capsule, lend(single))
    refuses(lambda: jit_torch.forward(capsule, lend(single)), "taken before")


if __name__ == "__main__":
    torch.manual_seed(0)
    for name, test in list(globals().items()):
        if name.startswith("test_"):
            test()
            print(f"{name}: ok")
