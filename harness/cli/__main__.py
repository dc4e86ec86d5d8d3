"""``python -m harness.cli``, for tests and tools that must not depend on an installed command."""

import os
import sys

from harness.cli import main

os.environ.setdefault("PYTHONDONTWRITEBYTECODE", "1")
sys.exit(main())
