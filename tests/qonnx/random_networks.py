"""Random networks of quantised layers, for comparison with qonnx's executor."""

from __future__ import annotations

import numpy as np

from .support import Network

MODES = ("ROUND", "FLOOR", "CEIL", "HALF_UP", "HALF_DOWN", "DOWN", "UP")


class RandomNetwork:
    """Layers chosen at random; exact scales are powers of two, so that the executor's float32 is exact.

    Attributes:
        shape: of the input.
        model: the network.
    """

    def __init__(self, seed, *, exact=True):
        self.exact = exact
        self.rng = np.random.default_rng(seed)
        self.net = Network()
        rng = self.rng
        if rng.random() < 0.6:
            self.shape = (int(rng.integers(1, 3)), *map(int, rng.integers(2, 7, 3)))
        else:
            self.shape = tuple(map(int, rng.integers(2, 6, rng.integers(2, 4))))
        x, shape = self.quantised(self.net.input(*self.shape), self.shape), self.shape
        for _ in range(int(rng.integers(1, 4))):
            x, shape = self.layer(x, shape)
        self.model = self.net.model(x)

    def scale(self):
        return 2.0 ** float(self.rng.integers(-2, 2)) if self.exact else self.rng.uniform(0.2, 1.5)

    def quantised(self, x, shape):
        """A quantiser of any kind."""
        rng, kind = self.rng, self.rng.random()
        if kind < 0.2:
            return self.net("BipolarQuant", x, self.scale())
        if kind < 0.3:
            rows = np.sort(
                rng.normal(0, 2, (shape[1] if rng.random() < 0.5 else 1, rng.integers(1, 8)))
            )
            layout = "NCHW" if len(shape) == 4 else "NC" if len(shape) == 2 else "NCW"
            return self.net("MultiThreshold", x, rows, out_dtype="UINT4", data_layout=layout)
        bits, signed = int(rng.integers(1, 7)), int(rng.integers(0, 2))
        narrow = int(bits > 1 and rng.random() < 0.3)
        zero = float(rng.integers(-1, 2)) if bits > 1 else 0.0
        return self.net.quant(x, self.scale(), bits, zero, signed, narrow, str(rng.choice(MODES)))

    def weights(self, *shape):
        """Weights, in half of the cases with a scale for each output."""
        rng = self.rng
        array = self.net.constant(rng.normal(0, 1.5, shape))
        if rng.random() < 0.25:
            return self.net("BipolarQuant", array, self.scale())
        scale = np.full((), self.scale())
        if rng.random() < 0.5:
            each = (shape[0], *[1] * (len(shape) - 1)) if len(shape) > 2 else (1, shape[1])
            scale = 2.0 ** rng.integers(-2, 1, each) if self.exact else rng.uniform(0.1, 1, each)
        return self.net.quant(array, scale, int(rng.integers(2, 6)), signed=1, narrow=1)

    def layer(self, x, shape):
        """A product or something else, then functions of each element and a quantiser."""
        net, rng = self.net, self.rng
        if len(shape) == 4 and rng.random() < 0.8:
            x, shape = rng.choice([self.conv, self.pool, self.joined, self.flat])(x, shape)
        else:
            x, shape = self.product(x, shape)
        if rng.random() < 0.5:
            gamma, beta, mean = (rng.normal(0, 1, shape[1]) for _ in range(3))
            variance = rng.uniform(0.5, 2, shape[1])
            x = net("BatchNormalization", x, gamma, beta, mean, variance)
        if rng.random() < 0.4:
            x = net("Relu", x)
        if len(shape) == 4 and min(shape[2:]) > 1 and rng.random() < 0.3:
            x = net("MaxPool", x, kernel_shape=[2, 2], strides=[2, 2])
            shape = (*shape[:2], shape[2] // 2, shape[3] // 2)
        return self.quantised(x, shape), shape

    def conv(self, x, shape):
        """Groups, strides, dilations, padding and a bias."""
        rng, (batch, channels, *image) = self.rng, shape
        groups = int(rng.choice([g for g in range(1, channels + 1) if channels % g == 0]))
        outs = groups * int(rng.integers(1, 4))
        sizes = [int(rng.integers(1, min(n, 3) + 1)) for n in image]
        pads, strides = rng.integers(0, 2, 4).tolist(), rng.integers(1, 3, 2).tolist()
        parameters = [self.weights(outs, channels // groups, *sizes)]
        if rng.random() < 0.5:
            parameters.append(rng.integers(-8, 8, outs) * 0.25)
        y = self.net("Conv", x, *parameters, group=groups, pads=pads, strides=strides)
        extents = [
            (n + pads[d] + pads[2 + d] - k) // s + 1
            for d, (n, k, s) in enumerate(zip(image, sizes, strides, strict=True))
        ]
        return y, (batch, outs, *extents)

    def pool(self, x, shape):
        """The mean of each channel, or of windows of two by two."""
        if min(shape[2:]) < 2 or shape[2] * shape[3] & (shape[2] * shape[3] - 1) == 0:
            return self.net("GlobalAveragePool", x), (*shape[:2], 1, 1)
        y = self.net("AveragePool", x, kernel_shape=[2, 2], strides=[1, 1])
        return y, (*shape[:2], shape[2] - 1, shape[3] - 1)

    def joined(self, x, shape):
        """A tensor and what is quantised of it again, added or side by side."""
        other = self.quantised(x, shape)
        if self.rng.random() < 0.5:
            return self.net(str(self.rng.choice(["Add", "Sub"])), x, other), shape
        return self.net("Concat", x, other, axis=1), (shape[0], 2 * shape[1], *shape[2:])

    def flat(self, x, shape):
        """One row for each image."""
        row = int(np.prod(shape[1:]))
        return self.product(self.net("Flatten", x), (shape[0], row))

    def product(self, x, shape):
        """By a matrix."""
        outs = int(self.rng.integers(1, 7))
        return self.net("MatMul", x, self.weights(shape[-1], outs)), (*shape[:-1], outs)
