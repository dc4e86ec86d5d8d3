"""Names of Java that PySpark asks for again with each column, remembered.

Py4J keeps nothing of what it was told: for each ``F.col`` it asks Java what ``functions`` is, which then looks for a class of that
name in every jar of Spark's, and which members it has. An analysis makes ten thousand columns.
"""

from __future__ import annotations

from typing import Any

from py4j.java_gateway import JavaClass, JVMView

_CLASSES = (
    ("functions", "org.apache.spark.sql.functions"),
    ("PythonUtils", "org.apache.spark.api.python.PythonUtils"),
)
"""By the name that Spark imports and by the whole one, both of which PySpark uses."""


def remember_names(java: JVMView) -> None:
    """From now on neither is asked for again. Python looks into an object before it asks Py4J's ``__getattr__``."""
    for name, whole in _CLASSES:
        found = getattr(java, name)
        remembering = _RememberingClass(found._fqn, found._gateway_client)
        vars(java).update({name: remembering, whole: remembering})


class _RememberingClass(JavaClass):  # type: ignore[misc]
    def __getattr__(self, name: str) -> Any:
        member = super().__getattr__(name)
        # Py4J's own attributes never come here, and a static method stays what it is.
        setattr(self, name, member)
        return member
