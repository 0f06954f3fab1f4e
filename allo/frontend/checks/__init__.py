"""What a program's text alone shows: ranges, shapes, subscripts out of range, reads of nothing."""
