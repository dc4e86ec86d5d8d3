"""Numbers among a broker's settings."""

import re
from collections.abc import Mapping


def whole_of(conf: Mapping[str, str], key: str, default: int) -> int:
    """A setting that is a whole number; the default where it is absent or none.

    A running broker tells numbers for its own settings. What it does not know it repeats as it stands in its file.
    """
    text = conf.get(key, "")
    return int(text) if re.fullmatch(r"-?[0-9]{1,18}", text) else default
