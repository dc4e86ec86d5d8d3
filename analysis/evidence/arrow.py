"""Spark's types as Arrow's, for tables that are written without Spark."""

from __future__ import annotations

from collections.abc import Mapping

import pyarrow as pa
from pyspark.sql.types import (
    ArrayType,
    BooleanType,
    DataType,
    DoubleType,
    IntegerType,
    LongType,
    StringType,
    StructType,
)

from analysis.evidence.tables import PLACE

_TYPES: Mapping[DataType, pa.DataType] = {
    StringType(): pa.string(),
    LongType(): pa.int64(),
    IntegerType(): pa.int32(),
    DoubleType(): pa.float64(),
    BooleanType(): pa.bool_(),
    ArrayType(StringType()): pa.list_(pa.string()),
    PLACE: pa.struct([("file", pa.string()), ("line", pa.int64())]),
}


def arrow_columns(schema: StructType) -> dict[str, pa.DataType]:
    """Its columns in their order."""
    return {field.name: _TYPES[field.dataType] for field in schema.fields}
