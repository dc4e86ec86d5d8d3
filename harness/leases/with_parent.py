"""A program of the lab ends with the process that started it, however that ends, also while it stands still itself.

Linux sends it SIGKILL when the *thread* that started it ends: ``harness.leases.spawner`` has one for that. It is the program that
asks for it, not whoever starts it, so that a node, which may be kept, is none. Standard library only.
"""

import ctypes
import os
import signal

PARENT_VARIABLE = "MQLAB_PARENT"
"""The pid of the process that starts one, which a program that knows of it ends with."""

_PR_SET_PDEATHSIG = 1


def end_with_parent() -> None:
    """To be called first in a program. Nothing happens where nobody said who the parent is, as where a user starts it."""
    parent = os.environ.pop(PARENT_VARIABLE, "")
    if not parent:
        return
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, ctypes.c_ulong(signal.SIGKILL))
    if os.getppid() != int(parent):  # It was too late for that.
        os._exit(1)
