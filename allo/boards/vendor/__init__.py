"""Projects for boards whose bitstreams only the vendor's tools make."""

from .project import project

__all__ = ["project"]
