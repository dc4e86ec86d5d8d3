"""Python's search for garbage, which is in vain where all that is made stays."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def nothing_becomes_garbage() -> Iterator[None]:
    """What is made within is never looked through."""
    gc.disable()
    try:
        yield
    finally:
        gc.freeze()
        gc.enable()
