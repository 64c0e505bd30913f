"""Makes the numbers that normalisations, poolings, embeddings, attention, transposed convolutions and recurrent layers
are compared with: layer_cases.txt, in the form that make.py describes.

    python3 make_layers.py        (with the packages torch 2.15 and numpy)
"""
import torch
from torch import nn
import torch.nn.functional as F

from make import case, layer, lines, with_statistics

torch.manual_seed(2)


def shaken(module):
    """Other parameters than the first ones, which may be zeros and ones."""
    for parameter in module.parameters():
        nn.init.normal_(parameter)
    return module


def norms():
    layer("batch_norm_plain", nn.BatchNorm2d(3, affine=False, track_running_stats=False), (2, 3, 2, 3))
    layer("batch_norm_plain_eval", nn.BatchNorm1d(3, affine=False, track_running_stats=False).eval(), (4, 3))
    layer("batch_norm_eps", with_statistics(nn.BatchNorm1d(3, eps=0.5, momentum=0.3)), (4, 3))
    layer("instance_norm_1", nn.InstanceNorm1d(3), (2, 3, 4))
    layer("instance_norm_1_single", nn.InstanceNorm1d(3), (3, 4))
    for name in ["instance_norm_2", "instance_norm_2_eval"]:
        module = with_statistics(nn.InstanceNorm2d(2, affine=True, track_running_stats=True))
        layer(name, module.eval() if name.endswith("eval") else module, (3, 2, 2, 3))
    layer("instance_norm_3", shaken(nn.InstanceNorm3d(2, affine=True)), (2, 2, 2, 1, 3))
    layer("group_norm", shaken(nn.GroupNorm(2, 4)), (3, 4, 2, 3))
    layer("group_norm_plain", nn.GroupNorm(3, 6, affine=False, eps=0.1), (2, 6))
    layer("layer_norm", shaken(nn.LayerNorm(5)), (3, 2, 5))
    layer("layer_norm_2", shaken(nn.LayerNorm((2, 3), eps=0.01)), (4, 2, 3))
    layer("layer_norm_plain", nn.LayerNorm(4, elementwise_affine=False), (3, 4))
    layer("rms_norm", shaken(nn.RMSNorm(5)), (3, 2, 5))
    layer("rms_norm_2", shaken(nn.RMSNorm((2, 3), eps=0.01)), (4, 2, 3))


def pools():
    layer("max_pool_1", nn.MaxPool1d(3, stride=2, padding=1), (2, 2, 8))
    layer("max_pool_2", nn.MaxPool2d(2), (2, 3, 5, 6))
    layer("max_pool_2_dilated", nn.MaxPool2d((3, 2), stride=(1, 2), padding=(1, 1), dilation=(2, 3)), (1, 2, 7, 8))
    layer("max_pool_3", nn.MaxPool3d(2, stride=1), (1, 2, 3, 3, 4))
    layer("max_pool_large", nn.MaxPool2d(7, stride=3, padding=3), (1, 1, 11, 10))
    layer("avg_pool_1", nn.AvgPool1d(3, stride=2, padding=1), (2, 2, 8))
    layer("avg_pool_2", nn.AvgPool2d((2, 3), padding=(1, 1), count_include_pad=False), (2, 3, 5, 6))
    layer("avg_pool_3", nn.AvgPool3d(2, stride=(1, 2, 1)), (1, 2, 3, 4, 4))
    layer("adaptive_avg_pool_1", nn.AdaptiveAvgPool1d(3), (2, 2, 7))
    layer("adaptive_avg_pool_2", nn.AdaptiveAvgPool2d((3, 2)), (2, 3, 5, 6))
    layer("adaptive_avg_pool_3", nn.AdaptiveAvgPool3d((1, 4, 2)), (1, 2, 3, 3, 5))
    layer("adaptive_max_pool_1", nn.AdaptiveMaxPool1d(5), (2, 2, 7))
    layer("adaptive_max_pool_2", nn.AdaptiveMaxPool2d((3, 4)), (2, 3, 5, 6))
    layer("adaptive_max_pool_3", nn.AdaptiveMaxPool3d((2, 1, 3)), (1, 2, 3, 3, 5))


def embeddings():
    numbers = torch.tensor([[1, 3, 0], [3, 2, 3]])
    for name, module in {
        "embedding": nn.Embedding(5, 4), "embedding_padding": nn.Embedding(5, 4, padding_idx=3),
    }.items():
        case(name, module, {"x0": numbers}, module)


def attention():
    def of(name, q, k, v, mask=None, **options):
        inputs = {"q": torch.randn(q), "k": torch.randn(k), "v": torch.randn(v)}
        if mask is not None:
            inputs["mask"] = mask
            call = lambda q, k, v, mask: F.scaled_dot_product_attention(
                q, k, v, attn_mask=mask.bool() if mask.dtype == torch.int64 else mask, **options)
        else:
            call = lambda q, k, v: F.scaled_dot_product_attention(q, k, v, **options)
        case(name, call, inputs)

    of("attention", (2, 3, 4, 5), (2, 3, 6, 5), (2, 3, 6, 2))
    of("attention_causal", (2, 4, 3), (2, 4, 3), (2, 4, 3), is_causal=True)
    of("attention_causal_wide", (3, 3), (5, 3), (5, 3), is_causal=True)
    kept = torch.tensor([[1, 0, 1, 1], [0, 1, 0, 0], [1, 1, 1, 0]])
    of("attention_masked", (2, 3, 3), (2, 4, 3), (2, 4, 3), mask=kept, scale=0.7)
    of("attention_biased", (2, 3, 3), (2, 4, 3), (2, 4, 3), mask=torch.randn(2, 3, 4))
    of("attention_grouped", (2, 6, 3, 4), (2, 2, 5, 4), (2, 2, 5, 4), enable_gqa=True)

    module = nn.MultiheadAttention(6, 2, batch_first=True)
    shaken(module)
    layer("multi_head", lambda_of(module, lambda x: module(x, x, x)[0]), (2, 4, 6))
    causal = torch.triu(torch.ones(4, 4, dtype=torch.bool), 1)
    layer("multi_head_causal", lambda_of(module, lambda x: module(x, x, x, attn_mask=causal)[0]), (2, 4, 6))
    plain = nn.MultiheadAttention(6, 3, bias=False, batch_first=True)
    layer("multi_head_cross", lambda_of(plain, lambda q, k, v: plain(q, k, v)[0]), (2, 4, 6), (2, 5, 6), (2, 5, 6))


def lambda_of(module, call):
    """A module whose parameters are those of another, and whose forward is a function."""
    class Called(nn.Module):
        def forward(self, *inputs):
            return call(*inputs)

        def named_parameters(self, *arguments):
            return module.named_parameters(*arguments)

    module.zero_grad()
    return Called()


def transposed_convolutions():
    layer("conv_transposed_1", nn.ConvTranspose1d(2, 3, 3, stride=2, padding=1, output_padding=1), (2, 2, 5))
    layer("conv_transposed_2", nn.ConvTranspose2d(2, 3, (3, 2), bias=False), (2, 2, 3, 4))
    layer("conv_transposed_2_grouped", nn.ConvTranspose2d(
        4, 6, (2, 3), stride=(2, 3), dilation=(2, 1), groups=2, padding=(1, 0), output_padding=(1, 0)), (1, 4, 3, 2))
    layer("conv_transposed_3", nn.ConvTranspose3d(2, 2, 2, stride=(1, 2, 1)), (1, 2, 2, 2, 3))


def recurrent():
    for name, kind in {"rnn": nn.RNN, "lstm": nn.LSTM, "gru": nn.GRU}.items():
        module = kind(3, 4, batch_first=True)
        layer(name, lambda_of(module, lambda x, module=module: module(x)[0]), (2, 5, 3))
        deep = kind(3, 2, num_layers=2, bidirectional=True)
        layer(name + "_deep", lambda_of(deep, lambda x, deep=deep: deep(x)[0]), (4, 2, 3))
        layer(name + "_state", lambda_of(deep, lambda x, deep=deep: last(deep(x)[1])), (4, 2, 3))
        bare = kind(3, 2, bias=False)
        states = [(1, 2, 2)] * (2 if kind is nn.LSTM else 1)
        begin = lambda x, *h, bare=bare: bare(x, h if len(h) > 1 else h[0])[0]
        layer(name + "_begin", lambda_of(bare, begin), (4, 2, 3), *states)
    relu = nn.RNN(3, 4, nonlinearity="relu", batch_first=True)
    layer("rnn_relu", lambda_of(relu, lambda x: relu(x)[0]), (2, 5, 3))
    for name, cell in {"rnn_cell": nn.RNNCell(3, 4), "gru_cell": nn.GRUCell(3, 4)}.items():
        layer(name, cell, (2, 3), (2, 4))
    cell = nn.LSTMCell(3, 4)
    call = lambda x, h, c: torch.cat(cell(x, (h, c)), 1)
    layer("lstm_cell", lambda_of(cell, call), (2, 3), (2, 4), (2, 4))


def last(state):
    """Hidden and cell states, one behind the other along the first axis."""
    return torch.cat(state, 0) if isinstance(state, tuple) else state


if __name__ == "__main__":
    norms()
    pools()
    embeddings()
    attention()
    transposed_convolutions()
    recurrent()
    with open("layer_cases.txt", "w") as file:
        file.write("\n".join(lines) + "\n")
