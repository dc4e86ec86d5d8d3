"""``python -m mqlab``, for tests and tools that must not depend on an installed command."""

import os
import sys

from mqlab.main import main

os.environ.setdefault("PYTHONDONTWRITEBYTECODE", "1")
sys.exit(main())
