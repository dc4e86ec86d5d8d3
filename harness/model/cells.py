"""A cell: an arm with its named parameters."""

from __future__ import annotations

from collections.abc import Mapping

ParameterValue = int | float | str

Parameters = Mapping[str, ParameterValue]
