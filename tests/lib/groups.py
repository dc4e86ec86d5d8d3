"""Which tests run one after the other in one worker of ``pytest -n``, and share what is up for them."""

from __future__ import annotations

import re

_SHARE_NOTHING = ("test_verify.py",)
_LOADS = "tests/cluster/test_load.py"
_ALONE = ("tests/cluster/test_locust_page.py", "tests/cluster/test_verify.py::test_an_interrupted_run")
"""They are alone on the machine, as are those that need root: they follow each other while others wait for them once."""
_OWN_SPARK = ("tests/spark/test_yardstick.py", "tests/spark/test_analyst.py", "tests/spark/test_sealed_runs.py")
"""Their Spark is another process', or they take so long that one of their own costs less than to wait for the others."""
_BY_HAND = "tests/spark/by_hand/"
"""One run of all of these histories, analysed once."""
_OF_THE_RECORD = tuple(f"tests/unit/test_{name}.py" for name in ("ledger", "recorded_runs", "send_matrix"))
"""They read all that was recorded, which takes seconds, once for all of them."""


def group_of(nodeid: str) -> str:
    """One Spark session, one engine, one cluster of each release; besides, a file is a group and shares its fixtures.

    Loads have three masters of 4.x or of 5.x: of each kind there is one cluster, since an idle broker takes a tenth of a core.
    """
    file, _, test = nodeid.partition("::")
    _, folder, *names = file.split("/")
    if file.startswith(_BY_HAND):
        return _BY_HAND
    if folder in ("root", "docker", "spark") and file not in _OWN_SPARK:
        return folder
    if nodeid.startswith(_ALONE):
        return "root"
    if folder == "cluster" and (release := re.search(r"\[(\d+\.\d+\.\d+)", test)):
        return f"cluster of {release[1]}"
    if file in _OF_THE_RECORD:
        return "record"
    if file == _LOADS and re.search("grpc|_5x", test):
        return f"{file} of 5.x"
    return nodeid if names[-1] in _SHARE_NOTHING else file
