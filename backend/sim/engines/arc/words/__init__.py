"""The words of an arc model: wide ones in parts, narrow ones of a delay line together."""
