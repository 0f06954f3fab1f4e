"""Arrays in the order their banks hold them."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from allo.backend.sim.boundary.storage import arrangement, from_banks, to_banks
from allo.dialects.boundary.storage import cell_bytes, encode
from allo.dialects.core.partition import ArrayLayout, Partition, make_dim, unpartitioned
from allo.dialects.types import parse_type

KINDS = (None, *Partition)


@pytest.mark.parametrize(("first", "second"), list(itertools.product(KINDS, KINDS)))
@pytest.mark.parametrize("dtype", ["i32", "ui5", "i100"])
def test_every_element_goes_where_the_layout_says(first, second, dtype):
    shape = (6, 7)
    dims = [
        make_dim(kind, extent, 3) if kind is not None else unpartitioned([extent]).dims[0]
        for kind, extent in zip((first, second), shape, strict=True)
    ]
    layout = ArrayLayout(tuple(dims))
    kept = arrangement(layout)
    cells = encode(np.arange(1, 43).reshape(shape) % 32, parse_type(dtype))
    banks = to_banks(cells, layout, dtype)
    raw = banks.reshape(-1).view(np.uint8).reshape(-1, cell_bytes(parse_type(dtype)))
    for index in itertools.product(*map(range, shape)):
        bank, word = layout.locate(index)
        position = bank * kept.bank_stride + word * kept.word_stride
        assert raw[position].tobytes() == cells[index].tobytes()
    back = np.zeros_like(cells)
    if kept.positions is None:
        back = banks
    from_banks(banks, back, layout, dtype)
    np.testing.assert_array_equal(back, cells)


def test_partitions_of_the_last_dimension_need_no_copy():
    cells = np.arange(48, dtype=np.int32).reshape(6, 8)
    for kind in (Partition.Cyclic, Partition.Complete):
        layout = ArrayLayout((unpartitioned([6]).dims[0], make_dim(kind, 8, 4)))
        assert to_banks(cells, layout, "i32") is cells
    rows = ArrayLayout((make_dim(Partition.Block, 6, 2), unpartitioned([8]).dims[0]))
    assert to_banks(cells, rows, "i32") is cells
    columns = ArrayLayout((make_dim(Partition.Cyclic, 6, 2), unpartitioned([8]).dims[0]))
    assert to_banks(cells, columns, "i32") is not cells
