"""The layers of graphs of levels (QONNX): products with the functions behind them, and functions alone."""

from __future__ import annotations

from collections.abc import Callable
from math import prod
from typing import Any

import numpy as np

from allo.dialects.diagnostics import UnsupportedOperatorError

from ..graph import Operator
from .outside import Given, mode_of

PRODUCTS = ("levels.conv1d", "levels.conv2d", "levels.matmul")
FUNCTIONS = ("levels.thresholds", "levels.table")
_SIGN = (2, -1)
_MOST = 1 << 14
"""Numbers of a table, at most."""


def refused(op: Operator, why: str, help: str) -> UnsupportedOperatorError:
    """The error for a form of a layer that no streaming unit has."""
    return UnsupportedOperatorError(
        f"Operator {op.path or op.name} ({op.target}) {why}, and no streaming layer does so.",
        op.place,
        help=help,
    )


def layer(reading: Any, op: Operator, fused: set[str]) -> Any:
    """The layer of a product or of a function; None for other operators."""
    if op.target in (*PRODUCTS, "levels.dense"):
        return _product(reading, op, fused)
    if op.target in (*FUNCTIONS, "levels.shift") and "int" in reading.meta_of(op).dtype:
        return _function(reading, op)
    return None


# --- products -------------------------------------------------------------------------------------


class _Terms:
    """What a product multiplies.

    Attributes:
        reads: the value that it takes.
        element: of it; its elements stand for ``factor * element + shift``.
        rows: integers, ``[channels, …]``, of a window those of its rows, columns and channels.
        are_signs: whether all weights are -1 or 1.
        shape: the windows, or None.
        places: vectors of an image.
        is_by_channel: one sum for each channel.
        groups: of channels, which are summed by themselves; 1 where each channel is.
        added: to the sum of each channel.
    """

    def __init__(self, reading: Any, op: Operator) -> None:
        args = op.args
        is_matrix = op.target in ("levels.matmul", "levels.dense")
        source = args["self" if is_matrix else "input"]
        if not reading.is_value(source):
            raise refused(op, "multiplies what is no stream", "a tensor of levels on the left.")
        weight = args["other" if is_matrix else "weight"]
        if reading.is_value(weight):
            raise refused(op, "multiplies two tensors", "weights that are constants.")
        self.reads, self.element = reading.named(source), reading.element_of(source)
        held = np.asarray(reading.array(weight)).astype(np.int64)
        times, more = 1, 0
        if args.get("agreeing") or args.get("signs"):
            times, more = _SIGN
        elif "zero_right" in args:
            times, more = args["zero_right"][:2]
        self.path, self.mode = mode_of(reading, weight)
        self.held, self.decoded = held, (times, more)
        integers = held * times + more
        self.arranged: Callable[[Any], Any] = np.asarray
        self.are_signs = bool((np.abs(integers) == 1).all())
        zero = args.get("zero_left" if is_matrix else "zero_input", (1, 0, ""))
        stands_for: tuple[int, int] = _SIGN if args.get("agreeing") else (zero[0], zero[1])
        self.factor, self.shift = stands_for
        self.shape, self.places, self.is_by_channel, self.groups = None, 1, False, 1
        self.added = np.zeros(integers.shape[-1 if is_matrix else 0], np.int64)
        if op.target == "levels.dense":
            self.added = np.asarray(reading.array(args["addends"])).astype(np.int64)
        if is_matrix:
            self._matrix(reading, op, source, integers)
        else:
            self._windows(reading, op, source, integers)

    def _matrix(self, reading: Any, op: Operator, source: Any, integers: Any) -> None:
        if prod(reading.meta(source).shape) != integers.shape[0] or integers.ndim != 2:
            raise refused(
                op, "multiplies several rows by a matrix", "one row: a Flatten before it."
            )
        self.arranged = lambda array: reading.by_pixels(array.T, self.reads)
        self.rows = self.arranged(integers)

    def _windows(self, reading: Any, op: Operator, source: Any, integers: Any) -> None:
        args = op.args
        height, width, channels = reading.pixels[self.reads]
        if reading.meta(source).shape[1] != channels:
            raise refused(op, "reads a view of an image", "the image itself.")
        outs, ins = integers.shape[:2]
        self.is_by_channel = args["groups"] == channels == outs and ins == 1 and channels > 1
        self.groups = 1 if self.is_by_channel else args["groups"]
        target = reading.pixels_of(reading.meta_of(op).shape)
        kernel = (1, *integers.shape[2:])[-2:]
        ones = (("stride", 1), ("padding", 0), ("dilation", 1))
        stride, before, dilation = ((n, *args[k])[-2:] for k, n in ones)
        self.arranged = lambda array: np.moveaxis(array, 1, -1).reshape(outs, -1)
        self.rows = self.arranged(integers)
        self.places = prod(target[:2])
        grouped = self.is_by_channel or self.groups > 1
        if self.mode and grouped:
            raise refused(
                op,
                f"sums groups of channels, and its weights {self.path!r} are to come from outside",
                "patterns of the other weights in weights_as_args=[…].",
            )
        shape = reading.library.Window(
            (height, width, channels), target[:2], kernel, stride, before, dilation
        )
        simple = kernel == stride == (1, 1) and before == (0, 0) and not self.is_by_channel
        is_whole = self.places == 1 and kernel == (height, width) and before == (0, 0)
        self.shape = None if simple or (is_whole and not grouped) else shape

    @property
    def fill(self) -> int:
        """The element that stands for 0."""
        return int(-self.shift // self.factor)

    @property
    def has_zero(self) -> bool:
        """Whether there is one, or none is needed."""
        if self.shape is None or not _is_padded(self.shape):
            return True
        there = -self.shift % self.factor == 0
        return bool(there and self.element.low <= self.fill <= self.element.high)

    @property
    def given(self) -> Given:
        """The weights, where they come from outside."""
        (times, more), arranged = self.decoded, self.arranged
        return Given(
            self.path,
            self.held,
            lambda array: arranged(np.asarray(array).astype(np.int64) * times + more),
        )

    def affine(self, op: Operator) -> tuple[int, Any]:
        """The sum of the graph: ``factor`` times that of elements and weights, and numbers of channels."""
        numbers = self.shift * self.rows.sum(1) + self.added
        if not op.args.get("agreeing"):
            return self.factor, numbers
        return 1, (
            numbers + self.rows.shape[1]
        ) // 2  # of signs that agree: half of all and of the sum


def _is_padded(shape: Any) -> bool:
    """Whether windows reach over the image."""
    return bool(
        any(shape.before)
        or any(
            (n - 1) * s + k - p > size
            for n, s, k, p, size in zip(
                shape.places, shape.stride, shape.reach, shape.before, shape.image, strict=False
            )
        )
    )


def _product(reading: Any, op: Operator, fused: set[str]) -> Any:
    """A product, and the function behind it where that is its only reader."""
    if op.target == "levels.dense" and op.args["shift"]:
        raise refused(op, "shifts its sums", "sums, or thresholds behind them.")
    terms, library = _Terms(reading, op), reading.library
    if not terms.has_zero:
        raise refused(
            op,
            "has padding with 0, for which its input has no level",
            "activations of Quant, of which one is 0, or windows inside the image.",
        )
    following = reading.only_reader(op, *FUNCTIONS)
    if following is not None and not _is_function(reading, following):
        following = None
    name = op.name if following is None else following.name
    fused |= {name} if following is not None else set()
    is_bits = (terms.element.bits, terms.element.signed) == (1, False)
    reads_signs = is_bits and (terms.factor, terms.shift) == _SIGN
    reads_bytes = terms.element == library.INT8 and (terms.factor, terms.shift) == (1, 0)
    if terms.mode:
        reading.given[name] = terms.given
        return _from_outside(reading, op, terms, following, name)
    ends = _is_bit(following) or (following is None and (reads_bytes or op.args.get("agreeing")))
    padded = terms.shape is not None and _is_padded(terms.shape)
    counted = terms.are_signs and (reads_signs or reads_bytes) and not terms.added.any()
    grouped = terms.is_by_channel or terms.groups > 1
    if counted and ends and not padded and not grouped:
        bits = (terms.rows + 1) // 2
        limits, falling = _limits(reading, op, following, len(bits), bits.shape[1], reads_signs)
        return library.Signs(
            name,
            (terms.reads,),
            bits,
            terms.places,
            limits,
            falling,
            terms.shape,
            takes_bits=reads_signs,
        )
    factor, numbers = terms.affine(op)
    steps = None
    if following is not None:
        steps = _moved(reading.library, _steps(reading, following), factor, numbers)
    elif factor != 1 or numbers.any():
        low, high = _ends(terms, factor, numbers)
        steps = library.Steps(library.Element.of(low, high), offset=numbers, factor=factor)
    return library.Product(
        name,
        (terms.reads,),
        terms.rows,
        terms.places,
        shape=terms.shape,
        fill=terms.fill,
        is_by_channel=terms.is_by_channel,
        groups=terms.groups,
        taken_element=terms.element,
        weight=library.Element.of(int(terms.rows.min()), int(terms.rows.max())),
        steps=steps,
    )


def _from_outside(
    reading: Any, op: Operator, terms: _Terms, following: Operator | None, name: str
) -> Any:
    """A product whose weights come from outside: elements are decoded, as sums of weights are not known."""
    library = reading.library
    weight = library.Element.of(int(terms.rows.min()), int(terms.rows.max()))
    steps, columns = None, terms.rows.shape[1]
    if following is not None:
        steps = _steps(reading, following)
    if op.args.get("agreeing"):
        steps = _of_signs(library, steps, columns)
    elif terms.added.any():
        steps = _moved(library, steps, 1, terms.added) if steps else None
        bits = terms.added.max() + columns * (terms.element.high + 1) * (weight.high + 1) * 4
        if steps is None:
            steps = library.Steps(library.Element.of(-bits, bits), offset=terms.added)
    return library.Product(
        name,
        (terms.reads,),
        terms.rows,
        terms.places,
        shape=terms.shape,
        fill=terms.fill,
        taken_element=terms.element,
        weight=weight,
        steps=steps,
        outside=terms.mode,
        means=(terms.factor, terms.shift),
    )


def _of_signs(library: Any, steps: Any, columns: int) -> Any:
    """A function of the count of signs that agree as one of their sum."""
    if steps is None:
        offset = np.full(1, columns, np.int64)
        return library.Steps(library.Element.of(0, columns), offset=offset, right=1)
    if steps.table is None:
        limits = 2 * steps.limits - columns
        return library.Steps(steps.element, limits, steps.first, steps.falling)
    counts = (np.arange(-columns, columns + 1) + columns) // 2 - steps.low
    table = steps.table[:, np.clip(counts, 0, steps.table.shape[1] - 1)]
    return library.Steps(steps.element, table=table, low=-columns)


def _ends(terms: _Terms, factor: int, numbers: Any) -> tuple[int, int]:
    """The least and the greatest sum."""
    first, second = terms.rows * terms.element.low, terms.rows * terms.element.high
    least, most = np.minimum(first, second).sum(1), np.maximum(first, second).sum(1)
    sums = np.concatenate([least, most]) * factor + np.concatenate([numbers, numbers])
    return int(sums.min()), int(sums.max())


def _is_bit(op: Operator | None) -> bool:
    """Whether a function gives 1 where a threshold is reached, and 0 where not, or the other way round."""
    return op is not None and op.target == "levels.thresholds" and _counts(op) == (1, 0)


def _counts(op: Operator) -> tuple[int, int]:
    return op.args["count"], op.args["first"]


def _limits(
    reading: Any, op: Operator, following: Operator | None, rows: int, columns: int, counts: bool
) -> tuple[Any, Any]:
    """Thresholds of each row, of counts of bits that agree where sums are ones of signs."""
    if following is None:
        return None, None
    steps = _steps(reading, following)
    limits = np.broadcast_to(steps.limits.reshape(-1), (rows,))
    if counts and not op.args.get("agreeing"):
        limits = -(-(limits + columns) // 2)  # 2 · agree - all ≥ limit
    falling = steps.falling
    return limits, None if falling is None else np.broadcast_to(falling, (rows,))


def _moved(library: Any, steps: Any, factor: int, numbers: Any) -> Any:
    """A function of ``factor * sum + numbers`` as one of the sum."""
    if factor == 1 and not numbers.any():
        return steps
    rows = len(numbers)
    if steps.table is None:
        limits = np.broadcast_to(steps.limits, (rows, steps.count))
        limits = -((numbers[:, None] - limits) // factor)
        return library.Steps(steps.element, limits, steps.first, steps.falling)
    count = steps.table.shape[1]
    low = int(-((numbers.max() - steps.low) // factor))
    high = int((steps.low + count - 1 - numbers.min()) // factor)
    sums = np.arange(low, high + 1) * factor + numbers[:, None]
    places = np.clip(sums - steps.low, 0, count - 1)
    table = np.take_along_axis(np.broadcast_to(steps.table, (rows, count)), places, 1)
    return library.Steps(steps.element, table=table, low=low)


# --- functions ------------------------------------------------------------------------------------


def _is_function(reading: Any, op: Operator) -> bool:
    """Whether an operator is a function of levels to levels."""
    return op.target in FUNCTIONS and "int" in reading.meta_of(op).dtype


def _steps(reading: Any, op: Operator) -> Any:
    """A function, with a row for each channel in the order in which they come."""
    args, library = op.args, reading.library
    element = library.Element.named(reading.meta_of(op).dtype)
    if op.target == "levels.shift":
        return library.Steps(element, offset=np.zeros(1, np.int64), right=args["count"])
    axes, shape = list(args["axes"]), reading.meta_of(op).shape
    if axes not in ([], [1]):
        raise refused(
            op, f"differs along the dimensions {axes}", "one function for all, or by channels."
        )
    table = np.asarray(reading.array(args["table"])).astype(np.int64)
    table = table.reshape(-1, table.shape[-1])
    falling = None
    if args.get("falling") is not None:
        falling = np.asarray(reading.array(args["falling"])).reshape(-1)
    if op.target == "levels.thresholds":
        steps = library.Steps(element, table[:, : args["count"]], args["first"], falling)
    elif table.size > _MOST:
        raise refused(
            op, f"is a table of {table.size:,} levels", f"thresholds, or up to {_MOST:,} levels."
        )
    else:
        steps = library.Steps(element, table=table, low=args["low"])
    if not axes or len(shape) > 2:
        return steps
    source = reading.named(args["input"])
    if source not in reading.pixels:
        return steps
    order = reading.by_pixels(np.arange(prod(shape))[None], source)[0]
    return steps.of_rows(order)


def _function(reading: Any, op: Operator) -> Any:
    """A function of each element."""
    source = op.args["input"]
    if not reading.is_value(source):
        raise refused(op, "takes floats", "give the input a type: input_type=(int8, 1 / 128).")
    name = reading.named(source)
    height, width, channels = reading.pixels[name]
    steps = _steps(reading, op)
    places = height * width
    if len(reading.meta_of(op).shape) == 2:
        places, channels = (1, places * channels) if steps.rows > 1 else (places, channels)
    reading.pixels[op.name] = reading.pixels[name]
    return reading.library.Function(
        op.name, (name,), steps, reading.element_of(source), places, channels
    )
