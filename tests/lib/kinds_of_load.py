"""Which loads there are."""

from harness.model.loads import LoadValue


def kinds_of_load(below: type[LoadValue] = LoadValue) -> set[type[LoadValue]]:
    """The lab's classes of loads that it makes nothing more special from. A test may make one of its own."""
    ours = [one for one in below.__subclasses__() if one.__module__.startswith("harness.")]
    return {kind for one in ours for kind in (kinds_of_load(one) or {one})}
