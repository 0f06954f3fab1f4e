"""Banks that take turns: remainders in subscripts, and the ports that accesses then share."""
