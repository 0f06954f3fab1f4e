"""Neural network kernels, written in the language itself, each with a default schedule.

Call one inside a kernel, ``nn.linear2d[float32, float32, float32, M, N, K](X, W, b)``, and compose
its schedule, ``s.compose(nn.linear2d, instantiate=[float32, float32, float32, M, N, K])``.
"""

from . import masks
from .activation import (
    GeLU,
    relu2d,
    relu3d,
    relu4d,
    schedule_gelu,
    schedule_relu2d,
    schedule_relu3d,
    schedule_relu4d,
)
from .attention import (
    RoPE,
    attention_block,
    attention_decode,
    scaled_dot_product_attention,
    schedule_attention_decode,
)
from .convolution import (
    avgpool2d,
    conv2d,
    maxpool2d,
    schedule_avgpool2d,
    schedule_conv2d,
    schedule_maxpool2d,
)
from .flash import (
    flash_attention,
    flash_attention_int8,
    flash_decode,
    flash_decode_int8,
    schedule_flash,
)
from .linear import (
    linear2d,
    linear3d,
    linear_int8,
    linear_requant,
    requantize,
    schedule_linear2d,
    schedule_linear3d,
    schedule_linear_int8,
    schedule_requantize,
)
from .normalize import (
    batchnorm1d_2d,
    batchnorm1d_3d,
    batchnorm2d,
    layer_norm,
    rms_norm,
    schedule_batchnorm1d_2d,
    schedule_batchnorm1d_3d,
    schedule_batchnorm2d,
    schedule_layernorm,
)
from .shapes import (
    concat,
    modulate_fused,
    repeat_batch3d,
    residual_add,
    schedule_concat,
    schedule_modulate_fused,
    schedule_repeat_batch3d,
)
from .softmax import log_softmax, schedule_log_softmax, schedule_softmax, softmax, softmax_rows

__all__ = [
    "GeLU",
    "RoPE",
    "attention_block",
    "attention_decode",
    "avgpool2d",
    "batchnorm1d_2d",
    "batchnorm1d_3d",
    "batchnorm2d",
    "concat",
    "conv2d",
    "flash_attention",
    "flash_attention_int8",
    "flash_decode",
    "flash_decode_int8",
    "layer_norm",
    "linear2d",
    "linear3d",
    "linear_int8",
    "linear_requant",
    "log_softmax",
    "masks",
    "maxpool2d",
    "modulate_fused",
    "relu2d",
    "relu3d",
    "relu4d",
    "repeat_batch3d",
    "requantize",
    "residual_add",
    "rms_norm",
    "scaled_dot_product_attention",
    "schedule_attention_decode",
    "schedule_avgpool2d",
    "schedule_batchnorm1d_2d",
    "schedule_batchnorm1d_3d",
    "schedule_batchnorm2d",
    "schedule_concat",
    "schedule_conv2d",
    "schedule_flash",
    "schedule_gelu",
    "schedule_layernorm",
    "schedule_linear2d",
    "schedule_linear3d",
    "schedule_linear_int8",
    "schedule_log_softmax",
    "schedule_maxpool2d",
    "schedule_modulate_fused",
    "schedule_relu2d",
    "schedule_relu3d",
    "schedule_relu4d",
    "schedule_repeat_batch3d",
    "schedule_requantize",
    "schedule_softmax",
    "softmax",
    "softmax_rows",
]
