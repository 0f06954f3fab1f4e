"""Small networks written in Brevitas: the same weights and statistics for the same seed."""

from __future__ import annotations

import brevitas.nn as qnn
import torch
from brevitas.quant.binary import SignedBinaryActPerTensorConst, SignedBinaryWeightPerTensorConst
from brevitas.quant.fixed_point import (
    Int8ActPerTensorFixedPoint,
    Int8BiasPerTensorFixedPointInternalScaling,
    Int8WeightPerChannelFixedPoint,
    Int8WeightPerTensorFixedPoint,
    Uint8ActPerTensorFixedPoint,
)
from brevitas.quant.float_quant_ocp import (
    Fp8e4m3OCPActPerTensorFloat,
    Fp8e4m3OCPWeightPerTensorFloat,
)
from brevitas.quant.scaled_int import Int32Bias
from brevitas.quant.shifted_scaled_int import (
    ShiftedUint8ActPerTensorFixedPoint,
    ShiftedUint8ActPerTensorFloat,
    ShiftedUint8WeightPerChannelFloat,
    ShiftedUint8WeightPerTensorFloat,
)
from brevitas.quant.ternary import SignedTernaryActPerTensorConst, SignedTernaryWeightPerTensorConst
from torch import nn

SIGNED, UNSIGNED = Int8ActPerTensorFixedPoint, Uint8ActPerTensorFixedPoint
SIGNS = {"weight_quant": SignedBinaryWeightPerTensorConst, "weight_scaling_init": 0.5}
TERNARY = {"weight_quant": SignedTernaryWeightPerTensorConst, "weight_scaling_init": 0.5}


def weights(bits, quant=Int8WeightPerTensorFixedPoint):
    return {"weight_quant": quant, "weight_bit_width": bits}


def identity(bits=4, quant=SIGNED, **more):
    return qnn.QuantIdentity(act_quant=quant, bit_width=bits, return_quant_tensor=True, **more)


def relu(bits=4, quant=UNSIGNED):
    return qnn.QuantReLU(act_quant=quant, bit_width=bits, return_quant_tensor=True)


def mlp():
    return nn.Sequential(
        identity(8),
        qnn.QuantLinear(12, 10, True, **weights(4)),
        relu(),
        qnn.QuantLinear(10, 5, True, **weights(4)),
    ), (1, 12)


def scaled_mlp():
    """Scales that are no powers of two."""
    return nn.Sequential(
        qnn.QuantIdentity(bit_width=6, return_quant_tensor=True),
        qnn.QuantLinear(12, 10, True, weight_bit_width=4),
        nn.BatchNorm1d(10),
        qnn.QuantReLU(bit_width=4, return_quant_tensor=True),
        qnn.QuantLinear(10, 5, True, weight_bit_width=4),
    ), (1, 12)


def cnn():
    return nn.Sequential(
        identity(8),
        qnn.QuantConv2d(2, 4, 3, padding=1, bias=False, **weights(3)),
        nn.BatchNorm2d(4),
        relu(),
        nn.MaxPool2d(2),
        qnn.QuantConv2d(4, 4, 3, bias=False, **weights(4)),
        nn.BatchNorm2d(4),
        relu(),
        nn.AdaptiveAvgPool2d(1),
        nn.Flatten(),
        identity(6),
        qnn.QuantLinear(4, 3, True, **weights(5)),
    ), (1, 2, 8, 8)


class Residual(nn.Module):
    """A depthwise and a pointwise convolution beside what they read, in one scale."""

    def __init__(self):
        super().__init__()
        self.shared = identity(6)
        self.depthwise = qnn.QuantConv2d(3, 3, 3, padding=1, groups=3, bias=False, **weights(4))
        self.norm, self.act = nn.BatchNorm2d(3), relu(5)
        self.pointwise = qnn.QuantConv2d(3, 3, 1, bias=False, **weights(4))
        self.out = relu(5)
        self.head = qnn.QuantLinear(48, 3, True, **weights(3))

    def forward(self, x):
        x = self.shared(x)
        y = self.act(self.norm(self.depthwise(x)))
        return self.head(torch.flatten(self.out(x + self.shared(self.pointwise(y))), 1))


def per_channel():
    each = Int8WeightPerChannelFixedPoint
    return nn.Sequential(
        identity(5),
        qnn.QuantConv2d(2, 4, 3, bias=True, **weights(4, each)),
        relu(3),
        qnn.QuantConv2d(4, 4, 3, groups=2, bias=False, **weights(2, each)),
        relu(7),
    ), (1, 2, 6, 6)


def signs(act=SignedBinaryActPerTensorConst, by=SIGNS):
    def bits():
        return qnn.QuantIdentity(act_quant=act, return_quant_tensor=True, scaling_init=1.0)

    return nn.Sequential(
        bits(),
        qnn.QuantLinear(16, 12, False, **by),
        nn.BatchNorm1d(12),
        bits(),
        qnn.QuantLinear(12, 4, False, **by),
    ), (1, 16)


def widths():
    """Weights and activations of 1 to 8 bits."""
    layers, size = [identity(8)], 10
    for bits in range(1, 9):
        layers.append(
            qnn.QuantLinear(size, 6, bits % 2 == 0, **(SIGNS if bits == 1 else weights(bits)))
        )
        layers.append(relu(max(bits, 2)) if bits % 2 else identity(bits))
        size = 6
    return nn.Sequential(*layers), (1, 10)


def asymmetric():
    """Activations with zero points."""
    shifted = ShiftedUint8ActPerTensorFixedPoint
    return nn.Sequential(
        identity(6, shifted),
        qnn.QuantLinear(12, 8, True, **weights(4)),
        nn.Sigmoid(),
        identity(5, shifted),
        qnn.QuantLinear(8, 4, True, **weights(4)),
    ), (1, 12)


def asymmetric_weights():
    return nn.Sequential(
        identity(6, ShiftedUint8ActPerTensorFloat),
        qnn.QuantLinear(12, 8, True, **weights(4, ShiftedUint8WeightPerChannelFloat)),
        qnn.QuantReLU(bit_width=5),
        qnn.QuantLinear(8, 4, False, **weights(8, ShiftedUint8WeightPerTensorFloat)),
    ), (1, 12)


def rounding():
    """Activations rounded in every way that QONNX has a name for."""
    layers, size = [], 10
    for mode in ("ROUND", "CEIL", "FLOOR", "ROUND_TO_ZERO"):
        layers.append(identity(6, float_to_int_impl_type=mode))
        layers.append(qnn.QuantLinear(size, 8, True, **weights(4)))
        size = 8
    return nn.Sequential(*layers, identity(8, float_to_int_impl_type="FLOOR")), (1, 10)


def pools():
    """Means that are sums, cut to their upper bits."""
    return nn.Sequential(
        identity(6),
        qnn.QuantConv2d(2, 4, 3, bias=False, **weights(3)),
        relu(5),
        qnn.TruncAvgPool2d(2, bit_width=5, return_quant_tensor=True),
        relu(4),
        qnn.TruncAdaptiveAvgPool2d(1, return_quant_tensor=True),
        nn.Flatten(),
        qnn.QuantLinear(4, 3, False, **weights(3)),
    ), (1, 2, 8, 8)


def biases():
    """Of 32 bits in the unit of the sums, and of 8 bits in their own."""
    small = Int8BiasPerTensorFixedPointInternalScaling
    return nn.Sequential(
        identity(8),
        qnn.QuantLinear(12, 10, True, bias_quant=Int32Bias, **weights(4)),
        relu(),
        qnn.QuantLinear(10, 5, True, bias_quant=small, **weights(4)),
        identity(8),
    ), (1, 12)


def small_floats():
    act = Fp8e4m3OCPActPerTensorFloat
    return nn.Sequential(
        qnn.QuantIdentity(act_quant=act),
        qnn.QuantLinear(8, 6, True, weight_quant=Fp8e4m3OCPWeightPerTensorFloat),
        nn.ReLU(),
        qnn.QuantIdentity(act_quant=act),
    ), (1, 8)


def lines():
    return nn.Sequential(
        identity(5),
        qnn.QuantConv1d(3, 4, 3, stride=2, dilation=2, padding=2, bias=True, **weights(4)),
        relu(4),
        qnn.QuantConv1d(4, 4, 3, bias=False, **weights(4)),
        qnn.QuantTanh(bit_width=5, return_quant_tensor=True),
    ), (1, 3, 16)


def decoder():
    """Transposed convolutions, pixels repeated, channels as pixels."""
    return nn.Sequential(
        identity(5),
        qnn.QuantConvTranspose2d(
            3, 4, 3, stride=2, padding=1, output_padding=1, bias=True, **weights(4)
        ),
        relu(4),
        qnn.QuantUpsample(scale_factor=2, mode="nearest", return_quant_tensor=True),
        qnn.QuantConv2d(4, 4, 3, bias=False, **weights(3)),
        nn.PixelShuffle(2),
    ), (1, 3, 3, 3)


class Encoder(nn.Module):
    """A block of a transformer: attention of two heads, GELU, and layer norms in float32."""

    def __init__(self, width=4, heads=2):
        super().__init__()
        quantisers = {
            "in_proj_input_quant": SIGNED,
            "in_proj_weight_quant": Int8WeightPerTensorFixedPoint,
            "in_proj_bias_quant": None,
            "softmax_input_quant": None,
            "attn_output_weights_quant": UNSIGNED,
            "q_scaled_quant": SIGNED,
            "k_transposed_quant": SIGNED,
            "v_quant": SIGNED,
            "out_proj_input_quant": SIGNED,
            "out_proj_weight_quant": Int8WeightPerTensorFixedPoint,
            "out_proj_bias_quant": None,
        }
        self.into, self.sum = identity(8), identity(8)
        self.attention = qnn.QuantMultiheadAttention(
            width, heads, batch_first=True, packed_in_proj=False, **quantisers
        )
        self.first, self.second = nn.LayerNorm(width), nn.LayerNorm(width)
        self.up = qnn.QuantLinear(width, 6, True, input_quant=SIGNED, **weights(6))
        self.down = qnn.QuantLinear(6, width, True, input_quant=SIGNED, **weights(6))

    def forward(self, x):
        x = self.into(x)
        x = self.first(self.sum(x) + self.sum(self.attention(x, x, x)[0]))
        return self.second(x + self.down(nn.functional.gelu(self.up(x))))


NETWORKS = {
    "mlp": mlp,
    "per_channel": per_channel,
    "lines": lines,
    "widths": widths,
    "signs": signs,
    "cnn": cnn,
    "scaled_mlp": scaled_mlp,
    "decoder": decoder,
    "asymmetric": asymmetric,
    "asymmetric_weights": asymmetric_weights,
    "biases": biases,
    "small_floats": small_floats,
    "pools": pools,
    "residual": lambda: (Residual(), (1, 3, 4, 4)),
    "rounding": rounding,
    "ternary": lambda: signs(SignedTernaryActPerTensorConst, TERNARY),
    "lstm": lambda: (qnn.QuantLSTM(3, 2, weight_bit_width=5), (2, 1, 3)),
    "encoder": lambda: (Encoder(), (1, 3, 4)),
}


def network(name, seed=0):
    """A network whose activations have seen four batches, and the shape that it takes."""
    torch.manual_seed(seed)
    module, shape = NETWORKS[name]()
    module.train()
    with torch.no_grad():
        for _ in range(4):
            module(torch.randn(*(shape if name == "lstm" else (4, *shape[1:]))))
        for part in module.modules():
            if isinstance(part, (nn.BatchNorm1d, nn.BatchNorm2d)):
                part.weight.uniform_(-1.5, 1.5)
                part.bias.normal_()
    return module.eval(), shape
