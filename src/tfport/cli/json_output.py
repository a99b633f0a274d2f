"""What programs read on standard output."""

from __future__ import annotations

import json
import sys
from typing import Any


def print_json(what: dict[str, Any]) -> None:
    json.dump(what, sys.stdout, indent=1, ensure_ascii=False)
    print()
