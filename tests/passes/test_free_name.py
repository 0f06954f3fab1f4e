"""Names that are not taken yet."""

from allo.dialects.text.free_name import free_name


def test_a_name_is_kept_where_it_is_free_and_numbered_where_it_is_taken() -> None:
    assert free_name("row", {"column"}) == "row"
    assert free_name("row", {"row"}) == "row_1"
    assert free_name("row", {"row": 0}, first=2) == "row_2"
    assert free_name("row", {"row", "row_2"}, {"row_1", "row_3"}) == "row_4"
