"""Which loads there are."""

from harness.model.loads import LoadValue


def kinds_of_load(below: type[LoadValue] = LoadValue) -> set[type[LoadValue]]:
    """Classes of loads that nothing is made more special from."""
    return {kind for one in below.__subclasses__() for kind in (kinds_of_load(one) or {one})}
