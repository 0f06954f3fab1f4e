"""Boards, a file for each maker or kind, with its boards in ``BOARDS``.

Pins are those of the packages ``amaranth-boards`` and ``litex-boards``; ``tests/boards/test_public_pins.py``
holds them against both.
"""
