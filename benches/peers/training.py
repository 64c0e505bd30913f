"""Steps of training in JAX and PyTorch: `training.py jax|torch [--only ROW]`.

Prints the rows `N…` and A02 as the benchmark `rows` does, with the same networks, initial values and inputs; the checksum is
the loss of the tenth step. Needs numpy, and jax or torch.
"""
import json
import os
import sys
import time

import numpy as np

THREADS = len(os.sched_getaffinity(0))
DIGITS, SIDE = 32, 8
TEXTS, LENGTH, CHARACTERS, WIDTH, HEADS, BLOCKS = 32, 64, 72, 128, 4, 3
EPSILON = 1e-5


def hash32(x):
    x = np.asarray(x, np.uint32)
    x = x ^ (x >> np.uint32(16))
    x = x * np.uint32(0x7FEB352D)
    x = x ^ (x >> np.uint32(15))
    x = x * np.uint32(0x846CA68B)
    return x ^ (x >> np.uint32(16))


def u01(count, seed):
    """Numbers in [0, 1) with 24 random bits."""
    index = np.arange(count, dtype=np.uint32) + np.uint32(seed * 0x9E3779B9 & 0xFFFFFFFF)
    return (hash32(index) >> np.uint32(8)).astype(np.float32) * np.float32(1 / 16777216)


def numbers(first, count, limit):
    return (hash32(np.arange(first, first + count)) % np.uint32(limit)).astype(np.int32)


class Initial:
    """Gives each matrix other initial values than the one before."""

    def __init__(self):
        self.seed = 99

    def matrix(self, *shape):
        self.seed += 1
        fan_in = int(np.prod(shape[1:]))
        bound = np.float32(1) / np.sqrt(np.float32(fan_in))
        return ((np.float32(2) * u01(int(np.prod(shape)), self.seed) - np.float32(1)) * bound).reshape(shape)


def initial_digits():
    make = Initial()
    return {
        "first": make.matrix(8, 1, 3, 3), "first_bias": np.zeros(8, np.float32),
        "first_scale": np.ones(8, np.float32), "first_shift": np.zeros(8, np.float32),
        "second": make.matrix(16, 8, 3, 3), "second_bias": np.zeros(16, np.float32),
        "second_scale": np.ones(16, np.float32), "second_shift": np.zeros(16, np.float32),
        "last": make.matrix(10, 4 * SIDE * SIDE), "last_bias": np.zeros(10, np.float32),
    }


def initial_transformer():
    make = Initial()
    zeros, ones = (lambda n: np.zeros(n, np.float32)), (lambda n: np.ones(n, np.float32))
    net = {"characters": make.matrix(CHARACTERS, WIDTH), "places": make.matrix(LENGTH, WIDTH), "blocks": []}
    for _ in range(BLOCKS):
        net["blocks"].append({
            "attention_scale": ones(WIDTH), "attention_shift": zeros(WIDTH),
            "in_proj": make.matrix(3 * WIDTH, WIDTH), "in_proj_bias": zeros(3 * WIDTH),
            "out_proj": make.matrix(WIDTH, WIDTH), "out_proj_bias": zeros(WIDTH),
            "linear_scale": ones(WIDTH), "linear_shift": zeros(WIDTH),
            "expand": make.matrix(4 * WIDTH, WIDTH), "expand_bias": zeros(4 * WIDTH),
            "shrink": make.matrix(WIDTH, 4 * WIDTH), "shrink_bias": zeros(WIDTH),
        })
    net.update(scale=ones(WIDTH), shift=zeros(WIDTH), head=make.matrix(CHARACTERS, WIDTH), head_bias=zeros(CHARACTERS))
    return net


def pictures():
    return u01(DIGITS * SIDE * SIDE, 1).reshape(DIGITS, 1, SIDE, SIDE)


def texts(first):
    return numbers(first, TEXTS * LENGTH, CHARACTERS).reshape(TEXTS, LENGTH)


def perceptron():
    """The features, the wanted values, and the initial parameters of row A02."""
    scale = np.sqrt(np.float32(12 / 64))
    x = u01((1 << 14) * 64, 1).reshape(-1, 64)
    wanted = np.sin(x[:, :8].sum(1, dtype=np.float32))[:, None]
    parameters = []
    for columns, seed in [(64, 2), (64, 3), (1, 4)]:
        matrix = ((u01(64 * columns, seed) - np.float32(0.5)) * scale).reshape(64, columns)
        parameters += [matrix, np.zeros(columns, np.float32)]
    return x, wanted, parameters


def in_jax():
    """Makes the steps by `jax.jit`, whose state is donated."""
    import functools

    import jax
    import jax.numpy as jnp
    from jax import lax

    def adam(parameters, gradients, state, rate, decay):
        first, second, count = state
        count = count + 1
        tree = jax.tree.map
        first = tree(lambda m, g: 0.9 * m + 0.1 * g, first, gradients)
        second = tree(lambda v, g: 0.999 * v + 0.001 * g * g, second, gradients)
        fix_first, fix_second = 1 - 0.9**count, 1 - 0.999**count

        def move(p, m, v):
            return p * (1 - rate * decay) - rate * (m / fix_first) / (jnp.sqrt(v / fix_second) + 1e-8)

        return tree(move, parameters, first, second), (first, second, count)

    def cross_entropy(scores, wanted):
        return -jnp.take_along_axis(jax.nn.log_softmax(scores), wanted[:, None], 1).mean()

    def training(parameters, loss, rate, decay):
        parameters = jax.tree.map(jnp.asarray, parameters)
        zeros = lambda: jax.tree.map(jnp.zeros_like, parameters)
        state = [parameters, (zeros(), zeros(), jnp.float32(0))]

        @functools.partial(jax.jit, donate_argnums=(0, 1))
        def step(parameters, state):
            value, gradients = jax.value_and_grad(loss)(parameters)
            return value, *adam(parameters, gradients, state, rate, decay)

        def once():
            value, *state[:] = step(*state)
            return float(jax.block_until_ready((value, state))[0])

        return once

    def digits():
        x, wanted = jnp.asarray(pictures()), jnp.asarray(numbers(0, DIGITS, 10))

        def convolved(x, kernel, bias, scale, shift):
            x = lax.conv_general_dilated(x, kernel, (1, 1), "SAME") + bias[None, :, None, None]
            mean, variance = x.mean((0, 2, 3), keepdims=True), x.var((0, 2, 3), keepdims=True)
            x = (x - mean) * lax.rsqrt(variance + EPSILON)
            return jax.nn.relu(x * scale[None, :, None, None] + shift[None, :, None, None])

        def loss(p):
            y = convolved(x, p["first"], p["first_bias"], p["first_scale"], p["first_shift"])
            y = convolved(y, p["second"], p["second_bias"], p["second_scale"], p["second_shift"])
            y = lax.reduce_window(y, -jnp.inf, lax.max, (1, 1, 2, 2), (1, 1, 2, 2), "VALID")
            return cross_entropy(y.reshape(DIGITS, -1) @ p["last"].T + p["last_bias"], wanted)

        return training(initial_digits(), loss, 0.002, 0.0)

    def transformer():
        text, following = jnp.asarray(texts(0)), jnp.asarray(texts(1)).reshape(-1)
        allowed = jnp.tril(jnp.ones((LENGTH, LENGTH), bool))

        def norm(x, scale, shift):
            mean = x.mean(-1, keepdims=True)
            return (x - mean) * lax.rsqrt(x.var(-1, keepdims=True) + EPSILON) * scale + shift

        def attended(x, b):
            parts = (x @ b["in_proj"].T + b["in_proj_bias"]).reshape(TEXTS, LENGTH, 3, HEADS, WIDTH // HEADS)
            q, k, v = (parts[:, :, part].swapaxes(1, 2) for part in range(3))
            scores = q @ k.swapaxes(2, 3) / np.sqrt(WIDTH / HEADS)
            found = jax.nn.softmax(jnp.where(allowed, scores, -jnp.inf)) @ v
            return found.swapaxes(1, 2).reshape(TEXTS, LENGTH, WIDTH) @ b["out_proj"].T + b["out_proj_bias"]

        def loss(p):
            x = p["characters"][text] + p["places"]
            for b in p["blocks"]:
                x = x + attended(norm(x, b["attention_scale"], b["attention_shift"]), b)
                hidden = norm(x, b["linear_scale"], b["linear_shift"]) @ b["expand"].T + b["expand_bias"]
                x = x + jax.nn.gelu(hidden, approximate=True) @ b["shrink"].T + b["shrink_bias"]
            scores = norm(x, p["scale"], p["shift"]) @ p["head"].T + p["head_bias"]
            return cross_entropy(scores.reshape(-1, CHARACTERS), following)

        return training(initial_transformer(), loss, 1e-3, 0.01)

    def dense():
        x, wanted, parameters = perceptron()
        x, wanted, state = jnp.asarray(x), jnp.asarray(wanted), [[jnp.asarray(p) for p in parameters]]

        def loss(p):
            y = jax.nn.relu(jax.nn.relu(x @ p[0] + p[1]) @ p[2] + p[3]) @ p[4] + p[5]
            return ((y - wanted) ** 2).mean()

        @functools.partial(jax.jit, donate_argnums=0)
        def step(parameters):
            value, gradients = jax.value_and_grad(loss)(parameters)
            return value, [p - 0.05 * g for p, g in zip(parameters, gradients)]

        def once():
            value, state[0] = step(state[0])
            return float(jax.block_until_ready((value, state[0]))[0])

        return once

    return {"A02": dense, "N01": digits, "N02": transformer}


def in_torch():
    """Makes the steps operation by operation."""
    import torch
    import torch.nn.functional as F

    torch.set_num_threads(THREADS)

    def parameters(tree):
        if isinstance(tree, dict):
            return {name: parameters(part) for name, part in tree.items()}
        if isinstance(tree, list):
            return [parameters(part) for part in tree]
        return torch.tensor(tree, requires_grad=True)

    def leaves(tree):
        parts = tree.values() if isinstance(tree, dict) else tree if isinstance(tree, list) else None
        return [tree] if parts is None else [leaf for part in parts for leaf in leaves(part)]

    def training(loss, optimizer):
        def once():
            optimizer.zero_grad()
            value = loss()
            value.backward()
            optimizer.step()
            return value.item()

        return once

    def digits():
        p, x = parameters(initial_digits()), torch.tensor(pictures())
        wanted = torch.tensor(numbers(0, DIGITS, 10)).long()
        means, variances = [torch.zeros(8), torch.zeros(16)], [torch.ones(8), torch.ones(16)]

        def convolved(x, name, layer):
            x = F.conv2d(x, p[name], p[name + "_bias"], padding=1)
            scale, shift = p[name + "_scale"], p[name + "_shift"]
            return F.relu(F.batch_norm(x, means[layer], variances[layer], scale, shift, True, 0.1, EPSILON))

        def loss():
            y = F.max_pool2d(convolved(convolved(x, "first", 0), "second", 1), 2)
            return F.cross_entropy(F.linear(y.flatten(1), p["last"], p["last_bias"]), wanted)

        return training(loss, torch.optim.Adam(leaves(p), 0.002))

    def transformer():
        p = parameters(initial_transformer())
        text, following = torch.tensor(texts(0)).long(), torch.tensor(texts(1)).long().reshape(-1)

        def attended(x, b):
            parts = F.linear(x, b["in_proj"], b["in_proj_bias"]).reshape(TEXTS, LENGTH, 3, HEADS, WIDTH // HEADS)
            q, k, v = (part.transpose(1, 2) for part in parts.unbind(2))
            found = F.scaled_dot_product_attention(q, k, v, is_causal=True)
            return F.linear(found.transpose(1, 2).reshape(TEXTS, LENGTH, WIDTH), b["out_proj"], b["out_proj_bias"])

        def loss():
            x = F.embedding(text, p["characters"]) + p["places"]
            for b in p["blocks"]:
                x = x + attended(F.layer_norm(x, [WIDTH], b["attention_scale"], b["attention_shift"]), b)
                hidden = F.layer_norm(x, [WIDTH], b["linear_scale"], b["linear_shift"])
                hidden = F.gelu(F.linear(hidden, b["expand"], b["expand_bias"]), approximate="tanh")
                x = x + F.linear(hidden, b["shrink"], b["shrink_bias"])
            scores = F.linear(F.layer_norm(x, [WIDTH], p["scale"], p["shift"]), p["head"], p["head_bias"])
            return F.cross_entropy(scores.reshape(-1, CHARACTERS), following)

        return training(loss, torch.optim.AdamW(leaves(p), 1e-3, weight_decay=0.01))

    def dense():
        x, wanted, p = perceptron()
        x, wanted, p = torch.tensor(x), torch.tensor(wanted), parameters(p)

        def loss():
            hidden = F.relu(F.relu(x @ p[0] + p[1]) @ p[2] + p[3])
            return F.mse_loss(hidden @ p[4] + p[5], wanted)

        return training(loss, torch.optim.SGD(p, 0.05))

    return {"A02": dense, "N01": digits, "N02": transformer}


def measure(name, step):
    """Prints the median time of a step, after ten of them."""
    loss = [step() for _ in range(10)][-1]
    seconds, begin = [], time.perf_counter()
    while time.perf_counter() - begin < 3 or len(seconds) < 7:
        start = time.perf_counter()
        step()
        seconds.append(time.perf_counter() - start)
    row = {"workload": name, "metric": "time", "value": sorted(seconds)[len(seconds) // 2] * 1e3, "unit": "ms"}
    print(json.dumps({**row, "checksum": loss, "reps": len(seconds)}), flush=True)


def main():
    systems = {"jax": in_jax, "torch": in_torch}
    if len(sys.argv) < 2 or sys.argv[1] not in systems:
        sys.exit(__doc__)
    only = sys.argv[sys.argv.index("--only") + 1] if "--only" in sys.argv else None
    for name, make in systems[sys.argv[1]]().items():
        if only in (None, name):
            measure(name, make())


if __name__ == "__main__":
    main()
