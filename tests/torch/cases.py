"""One small call for each ATen operator: the operator's name, what calls it, and its inputs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
import torch.ao.quantization.fx._decomposed  # registers torch.ops.quantized_decomposed
import torch.nn.functional as F

from tests.torch.support import tensor

Q = torch.ops.quantized_decomposed

X = tensor(3, 4)
Y = tensor(3, 4, seed=1)
POSITIVE = X.abs() + 0.25
BOOLS = X > 0
INTS = torch.arange(12, dtype=torch.int32).reshape(3, 4) - 5
CUBE = tensor(2, 3, 4)
IMAGE = tensor(2, 4, 5, 6)
LINE = tensor(2, 4, 7)
ROW = tensor(4, seed=2)
PLACES = torch.tensor([[2, 0], [1, 2]])

BYTES = torch.arange(-6, 6, dtype=torch.int8).reshape(3, 4) * 20
SCALES, ZEROS = torch.tensor([0.02, 0.5, 0.125, 1.5]), torch.tensor([3, -20, 0, 7])
LIMITS = (-128, 127, torch.int8)

Case = tuple[Callable[..., Any], list[torch.Tensor]]


def _unary(name: str) -> Callable[..., Any]:
    return getattr(torch.ops.aten, name)


UNARY = (
    "abs neg relu relu6 exp exp2 expm1 sin cos tan tanh sigmoid silu erf hardsigmoid hardswish"
    " mish selu sign square"
)
UNARY_POSITIVE = "log log2 log10 log1p sqrt rsqrt reciprocal"
COMPARISONS = "eq ne lt le gt ge"
BINARY = "mul maximum minimum"

CASES: dict[str, Case] = {
    **{f"aten.{n}.default": (_unary(n), [X]) for n in UNARY.split()},
    **{f"aten.{n}.default": (_unary(n), [POSITIVE]) for n in UNARY_POSITIVE.split()},
    **{
        f"aten.{n}.{form}": (_unary(n), [X, Y])
        if form == "Tensor"
        else (
            lambda x, n=n: _unary(n)(x, 0.5),
            [X],
        )
        for n in COMPARISONS.split()
        for form in ("Tensor", "Scalar")
    },
    "aten.log_sigmoid.default": (F.logsigmoid, [X]),
    "aten.logical_not.default": (torch.logical_not, [BOOLS]),
    "aten.mul.Tensor": (lambda x, y: x * y * 0.5, [X, ROW]),
    "aten.maximum.default": (torch.maximum, [X, Y]),
    "aten.minimum.default": (torch.minimum, [X, Y]),
    "aten.logical_and.default": (torch.logical_and, [BOOLS, Y > 0]),
    "aten.logical_or.default": (torch.logical_or, [BOOLS, Y > 0]),
    "aten.logical_xor.default": (torch.logical_xor, [BOOLS, Y > 0]),
    "aten.bitwise_and.Tensor": (torch.bitwise_and, [INTS, INTS + 2]),
    "aten.bitwise_or.Tensor": (torch.bitwise_or, [INTS, INTS + 2]),
    "aten.bitwise_xor.Tensor": (torch.bitwise_xor, [INTS, INTS + 2]),
    "aten.add.Tensor": (lambda x, y: torch.add(x, y, alpha=2) + 1, [X, ROW]),
    "aten.sub.Tensor": (lambda x, y: torch.sub(x, y, alpha=2) - 0.25, [X, ROW]),
    "aten.rsub.Scalar": (lambda x: torch.rsub(x, 1.5), [X]),
    "aten.div.Tensor": (lambda x, y: x / y / 3, [X, POSITIVE]),
    "aten.div.Tensor_mode": (
        lambda x, y: torch.div(x, y, rounding_mode="floor"),
        [X * 3, POSITIVE],
    ),
    "aten.pow.Tensor_Scalar": (lambda x: x**2 + x**3 + x.abs() ** 1.5, [X]),
    "aten.pow.Tensor_Tensor": (torch.pow, [POSITIVE, Y]),
    "aten.gelu.default": (lambda x: F.gelu(x) + F.gelu(x, approximate="tanh"), [X]),
    "aten.leaky_relu.default": (lambda x: F.leaky_relu(x, 0.2), [X]),
    "aten.elu.default": (lambda x: F.elu(x, 0.7), [X]),
    "aten.softplus.default": (lambda x: F.softplus(x, beta=2.0, threshold=1.0), [X]),
    "aten.threshold.default": (lambda x: F.threshold(x, 0.1, 20.0), [X]),
    "aten.hardtanh.default": (lambda x: F.hardtanh(x, -0.5, 0.25), [X]),
    "aten.clamp.default": (lambda x: x.clamp(-0.5, 0.25), [X]),
    "aten.clamp_min.default": (lambda x: x.clamp_min(0.1), [X]),
    "aten.clamp_max.default": (lambda x: x.clamp_max(0.1), [X]),
    "aten.where.self": (lambda c, x, y: torch.where(c, x, y), [BOOLS, X, Y]),
    "aten.masked_fill.Scalar": (lambda x, c: x.masked_fill(c, -2.0), [X, BOOLS]),
    "aten.addcmul.default": (lambda x, y: torch.addcmul(x, x, y, value=0.5), [X, Y]),
    "aten.addcdiv.default": (lambda x, y: torch.addcdiv(x, x, y, value=0.5), [X, POSITIVE]),
    "aten.lerp.Scalar": (lambda x, y: torch.lerp(x, y, 0.3), [X, Y]),
    "aten.lerp.Tensor": (torch.lerp, [X, Y, ROW]),
    "aten.prelu.default": (lambda x, w: F.prelu(x, w), [X, ROW]),
    "aten._to_copy.default": (lambda x: x.to(torch.float64) + x.int(), [X * 3]),
    "aten.tril.default": (lambda x: x.tril(1), [CUBE]),
    "aten.triu.default": (lambda x: x.triu(), [CUBE]),
    "aten.zeros_like.default": (lambda x: torch.zeros_like(x) + x, [X]),
    "aten.ones_like.default": (lambda x: torch.ones_like(x) + x, [X]),
    "aten.full_like.default": (lambda x: torch.full_like(x, 2.5) + x, [X]),
    # products
    "aten.linear.default": (F.linear, [CUBE, tensor(5, 4), tensor(5)]),
    "aten.matmul.default": (torch.matmul, [tensor(2, 1, 3, 4), tensor(5, 4, 2)]),
    "aten.mm.default": (torch.mm, [X, tensor(4, 5)]),
    "aten.bmm.default": (torch.bmm, [CUBE, tensor(2, 4, 5)]),
    "aten.mv.default": (torch.mv, [X, ROW]),
    "aten.dot.default": (torch.dot, [ROW, tensor(4, seed=3)]),
    "aten.addmm.default": (torch.addmm, [tensor(5), X, tensor(4, 5)]),
    "aten.baddbmm.default": (torch.baddbmm, [tensor(2, 3, 5), CUBE, tensor(2, 4, 5)]),
    # convolutions
    "aten.conv1d.default": (
        lambda x, w, b: F.conv1d(x, w, b, stride=2, padding=1),
        [LINE, tensor(6, 4, 3), tensor(6)],
    ),
    "aten.conv2d.default": (
        lambda x, w, b: F.conv2d(x, w, b, stride=(1, 2), padding=(1, 2), dilation=(2, 1), groups=2),
        [IMAGE, tensor(6, 2, 3, 3), tensor(6)],
    ),
    "aten.conv1d.padding": (
        lambda x, w: F.conv1d(x, w, padding="valid"),
        [LINE, tensor(3, 4, 2)],
    ),
    "aten.conv2d.padding": (
        lambda x, w: F.conv2d(x, w, padding="same"),
        [IMAGE, tensor(3, 4, 2, 3)],
    ),
    "aten.conv3d.default": (F.conv3d, [tensor(1, 2, 3, 3, 4), tensor(2, 2, 2, 2, 2)]),
    "aten.conv_transpose1d.default": (F.conv_transpose1d, [LINE, tensor(4, 3, 2)]),
    "aten.conv_transpose2d.input": (
        lambda x, w, b: F.conv_transpose2d(
            x, w, b, stride=2, padding=1, output_padding=1, groups=2
        ),
        [IMAGE, tensor(4, 3, 3, 3), tensor(6)],
    ),
    # pools
    "aten.max_pool1d.default": (lambda x: F.max_pool1d(x, 3, 2, 1), [LINE]),
    "aten.max_pool2d.default": (lambda x: F.max_pool2d(x, (2, 3), 2, 1, ceil_mode=True), [IMAGE]),
    "aten.avg_pool1d.default": (lambda x: F.avg_pool1d(x, 3, 2, 1), [LINE]),
    "aten.avg_pool2d.default": (
        lambda x: F.avg_pool2d(x, 3, 2, 1, count_include_pad=False) + F.avg_pool2d(x, 3, 2, 1),
        [IMAGE],
    ),
    "aten.max_pool3d.default": (lambda x: F.max_pool3d(x, 2), [tensor(1, 2, 4, 2, 5)]),
    "aten.avg_pool3d.default": (lambda x: F.avg_pool3d(x, 2), [tensor(1, 2, 4, 2, 5)]),
    "aten.adaptive_avg_pool3d.default": (
        lambda x: F.adaptive_avg_pool3d(x, (2, 1, 5)),
        [tensor(1, 2, 4, 2, 5)],
    ),
    "aten.adaptive_avg_pool1d.default": (lambda x: F.adaptive_avg_pool1d(x, 1), [LINE]),
    "aten.adaptive_avg_pool2d.default": (lambda x: F.adaptive_avg_pool2d(x, (5, 2)), [IMAGE]),
    # norms
    "aten._native_batch_norm_legit_no_training.default": (
        lambda x, m, v, w, b: F.batch_norm(x, m, v, w, b),
        [],
    ),
    "aten.layer_norm.default": (
        lambda x, w, b: F.layer_norm(x, (3, 4), w, b),
        [CUBE, tensor(3, 4), tensor(3, 4, seed=4)],
    ),
    "aten.rms_norm.default": (lambda x, w: F.rms_norm(x, (4,), w), [CUBE, ROW]),
    "aten.group_norm.default": (
        lambda x, w, b: F.group_norm(x, 2, w, b),
        [IMAGE, ROW, tensor(4, seed=5)],
    ),
    # reductions
    "aten.sum.default": (lambda x: x.sum(), [CUBE]),
    "aten.sum.dim_IntList": (lambda x: x.sum((0, -1)), [CUBE]),
    "aten.mean.default": (lambda x: x.mean(), [CUBE]),
    "aten.mean.dim": (lambda x: x.mean((1, 2), keepdim=True), [CUBE]),
    "aten.amax.default": (lambda x: x.amax(1), [CUBE]),
    "aten.amin.default": (lambda x: x.amin((0, 1), keepdim=True), [CUBE]),
    "aten.max.default": (lambda x: x.max(), [CUBE]),
    "aten.min.default": (lambda x: x.min(), [CUBE]),
    "aten.prod.default": (lambda x: x.prod(), [X]),
    "aten.prod.dim_int": (lambda x: x.prod(1), [X]),
    "aten.any.dim": (lambda c: c.any(1), [BOOLS]),
    "aten.all.dim": (lambda c: c.all(1), [X > -1]),
    "aten.any.default": (lambda c: c.any(), [BOOLS]),
    "aten.all.default": (lambda c: c.all(), [BOOLS]),
    "aten.var.correction": (lambda x: torch.var(x, 1, correction=0), [X]),
    "aten.var.dim": (lambda x: x.var(-1), [X]),
    "aten.std.dim": (lambda x: x.std(0), [X]),
    "aten.std.correction": (lambda x: torch.std(x, 1, correction=0, keepdim=True), [X]),
    "aten.max.dim": (lambda x: tuple(x.max(1)), [CUBE]),
    "aten.min.dim": (lambda x: tuple(x.min(-1, keepdim=True)), [CUBE]),
    "aten.argmax.default": (lambda x: x.argmax(-1), [CUBE]),
    "aten.argmin.default": (lambda x: x.argmin(0, keepdim=True), [CUBE]),
    "aten.cumsum.default": (lambda x: x.cumsum(1), [CUBE]),
    # attention
    "aten.softmax.int": (lambda x: x.softmax(-1) + x.softmax(1), [CUBE]),
    "aten.log_softmax.int": (lambda x: x.log_softmax(-1), [CUBE]),
    "aten.scaled_dot_product_attention.default": (
        lambda q, k, v: F.scaled_dot_product_attention(q, k, v, is_causal=True),
        [tensor(2, 2, 3, 4), tensor(2, 2, 3, 4, seed=6), tensor(2, 2, 3, 4, seed=7)],
    ),
    # gathers
    "aten.embedding.default": (lambda i, w: F.embedding(i, w), [PLACES, X]),
    "aten.index_select.default": (
        lambda x, i: x.index_select(1, i),
        [CUBE, torch.tensor([2, 0, 1, 2])],
    ),
    "aten.gather.default": (
        lambda x, i: x.gather(1, i),
        [X, torch.tensor([[0, 3], [1, 1], [2, 0]])],
    ),
    "aten.index.Tensor": (lambda x, i: x[:, i], [CUBE, torch.tensor([-1, 0])]),
    # shapes
    "aten.view.default": (lambda x: x.view(6, 4) + x.view(2, 12).view(6, 4), [CUBE]),
    "aten._unsafe_view.default": (lambda x: x.transpose(0, 2).reshape(2, 12), [CUBE]),
    "aten.permute.default": (lambda x: x.permute(2, 0, 1), [CUBE]),
    "aten.transpose.int": (lambda x: x.transpose(-1, 0), [CUBE]),
    "aten.t.default": (lambda x: x.t(), [X]),
    "aten.unsqueeze.default": (lambda x: x.unsqueeze(1), [X]),
    "aten.squeeze.dim": (lambda x: x.squeeze(0), [tensor(1, 3, 2)]),
    "aten.squeeze.dims": (lambda x: x.squeeze((0, 2)), [tensor(1, 3, 1)]),
    "aten.expand.default": (lambda x: x.expand(2, 3, 4), [tensor(3, 1)]),
    "aten.slice.Tensor": (lambda x: x[:, 1:-1:2], [tensor(2, 7)]),
    "aten.select.int": (lambda x: x[:, -1], [CUBE]),
    "aten.split.Tensor": (lambda x: x.split(3, 1)[1], [tensor(2, 7)]),
    "aten.split_with_sizes.default": (lambda x: x.split([1, 4, 2], 1)[1], [tensor(2, 7)]),
    "aten.unbind.int": (lambda x: x.unbind(1)[2], [CUBE]),
    "aten.flip.default": (lambda x: x.flip(0, 1), [CUBE]),
    "aten.clone.default": (lambda x: x.clone() + 1, [X]),
    "aten.alias.default": (lambda x: torch.ops.aten.alias(x) + 1, [X]),
    "aten.cat.default": (lambda x, y: torch.cat([x, y, x], -1), [X, tensor(3, 2)]),
    "aten.stack.default": (lambda x, y: torch.stack([x, y], 1), [X, Y]),
    "aten.repeat.default": (lambda x: x.repeat(2, 3, 1), [X]),
    "aten.roll.default": (lambda x: x.roll(1, 1), [X]),
    "aten.pad.default": (lambda x: F.pad(x, (1, 2, -1, 1), value=0.5), [X]),
    "aten.constant_pad_nd.default": (lambda x: torch.constant_pad_nd(x, (1, 2, -1, 1), 0.5), [X]),
    "aten.pixel_shuffle.default": (lambda x: F.pixel_shuffle(x, 2), [IMAGE]),
    "aten.upsample_nearest2d.vec": (lambda x: F.interpolate(x, scale_factor=2), [IMAGE]),
    "aten.quantize_per_tensor.default": (
        lambda x: torch.quantize_per_tensor(x * 4, 0.03, 5, torch.quint8).dequantize(),
        [X],
    ),
    "aten.quantize_per_tensor.tensor_qparams": (
        lambda x: torch.quantize_per_tensor(
            x, torch.tensor(0.25), torch.tensor(-7), torch.qint8
        ).dequantize(),
        [X],
    ),
    "aten.dequantize.self": (
        lambda x: torch.quantize_per_tensor(x, 0.5, 1, torch.qint8).dequantize() * 2,
        [X],
    ),
    "quantized_decomposed.quantize_per_tensor.default": (
        lambda x: Q.quantize_per_tensor(x * 4, 0.03, 5, 0, 255, torch.uint8),
        [X],
    ),
    "quantized_decomposed.quantize_per_tensor.tensor": (
        lambda x: Q.quantize_per_tensor(x, torch.tensor(0.011), torch.tensor(-7), *LIMITS),
        [X],
    ),
    "quantized_decomposed.quantize_per_channel.default": (
        lambda x: Q.quantize_per_channel(x * 40, SCALES, ZEROS, 1, *LIMITS),
        [X],
    ),
    "quantized_decomposed.dequantize_per_tensor.default": (
        lambda x: Q.dequantize_per_tensor(x, 0.03, 5, *LIMITS),
        [BYTES],
    ),
    "quantized_decomposed.dequantize_per_tensor.tensor": (
        lambda x: Q.dequantize_per_tensor(x, torch.tensor(0.011), torch.tensor(-7), *LIMITS),
        [BYTES],
    ),
    "quantized_decomposed.dequantize_per_channel.default": (
        lambda x: Q.dequantize_per_channel(x, SCALES, ZEROS, -1, *LIMITS),
        [BYTES],
    ),
}
CASES["aten._native_batch_norm_legit_no_training.default"] = (
    torch.nn.Sequential(torch.nn.BatchNorm2d(4)),
    [IMAGE],
)
