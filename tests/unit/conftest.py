"""What unit tests share by name: a stack of fake nodes."""

from tests.lib.audited import serving

__all__ = ["serving"]
