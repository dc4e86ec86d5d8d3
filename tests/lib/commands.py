"""The command line as a user types it, carried out in this process: a process of its own takes most of a second to start."""

from __future__ import annotations

import contextlib
import io
import sys
from dataclasses import dataclass

import pytest

from mqlab.main import main


@dataclass(frozen=True, kw_only=True)
class Said:
    """What a command ended with."""

    code: int
    out: str
    err: str


def typed(*words: str) -> Said:
    """Carry ``mqlab WORDS`` out."""
    out, err = io.StringIO(), io.StringIO()
    with pytest.MonkeyPatch.context() as patch, contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        patch.setattr(sys, "argv", ["mqlab", *words])  # which a run's manifest keeps
        code = main(words)
    return Said(code=code, out=out.getvalue(), err=err.getvalue())
