"""Boards, a file for each maker or kind, with its boards in ``BOARDS``.

``tests/boards/test_public_pins.py`` holds clocks, serial ports, LEDs, buttons and SDRAM against the packages
``amaranth-boards`` and ``litex-boards``; the Tang Nano 20K is in the latter alone.
"""
