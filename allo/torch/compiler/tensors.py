"""Between PyTorch's tensors and the arrays that built designs take and give."""

from __future__ import annotations

from typing import Any

import numpy as np


def array_of(torch: Any, tensor: Any) -> Any:
    """A tensor's elements as an array; one without dimensions has one element."""
    tensor = tensor.detach().contiguous()
    if tensor.dtype == torch.bfloat16:
        import ml_dtypes

        array = tensor.view(torch.int16).numpy().view(ml_dtypes.bfloat16)
    else:
        array = tensor.numpy()
    return array.reshape(array.shape or (1,))


def tensor_of(torch: Any, array: Any, like: Any) -> Any:
    """An array as a tensor of the shape and type of another one."""
    array = np.ascontiguousarray(array)
    if array.dtype.name == "bfloat16":
        made = torch.from_numpy(array.view(np.int16)).view(torch.bfloat16)
    else:
        made = torch.from_numpy(array)
    return made.to(like.dtype).reshape(like.shape)
