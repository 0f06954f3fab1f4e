"""Projects for boards whose bitstreams only the vendor's tools make."""

from .build import VendorBitstream, bitstream
from .project import project

__all__ = ["VendorBitstream", "bitstream", "project"]
