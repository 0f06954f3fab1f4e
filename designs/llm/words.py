"""What the vector engine and the linear engine send each other, as kernels on their streams."""

from allo.ir.types import Stream, UInt, float32, int8, int32


def send[BLOCK, KMAX, GROUP](
    words: "Stream[UInt(8 * GROUP), 16]",
    small: int8[BLOCK, KMAX],
    rows: int32,
    groups: int32,
):
    """Send the first groups of every row, GROUP activations in each word."""
    for row in range(rows):
        for word in range(groups):
            packed: UInt(8 * GROUP) = 0
            for e in range(GROUP):
                packed[8 * e : 8 * e + 8] = small[row, word * GROUP + e]
            words.put(packed)


def take[BLOCK, WIDTH, LANES](
    results: "Stream[float32, 16]",
    out: float32[BLOCK, WIDTH],
    rows: int32,
):
    """Take all outputs of every row in the linear engine's order: LANES of each row in turn."""
    for tile in range(WIDTH // LANES):
        for row in range(rows):
            for lane in range(LANES):
                out[row, tile * LANES + lane] = results.get()
