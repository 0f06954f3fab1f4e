"""The wide accelerator: narrow processing elements beside many memory channels, wide vector units."""
