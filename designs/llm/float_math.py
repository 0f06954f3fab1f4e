"""placeholder until the shared expansion lands"""

import numpy as np


def exp_f32(x):
    return np.exp(x)


def tanh_f32(x):
    return np.tanh(x)


def rsqrt_f32(x):
    return (np.float32(1) / np.sqrt(x)).astype(np.float32)
