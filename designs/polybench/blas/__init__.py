"""Routines of BLAS."""
