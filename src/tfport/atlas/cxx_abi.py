"""The C++ ABI of wheels, for releases in which it depends on the Python, and their versions of Abseil.

All wheels of other releases have the ABI that `Build.facts` names. tools/atlas/cxx_abi.py
found the releases: it reads the wheels of each one from 1.12 to 2.9.
"""

from __future__ import annotations

import re

OLD_UNTIL_3_6 = {"2.7": False, "3.3": False, "3.4": False, "3.5": False, "3.6": False, "3.7": True}
DIFFERENT = [
    f"{package}=={version}"
    for package in ("tensorflow", "tensorflow-gpu")
    for version in ("1.13.1", "1.13.2", "1.14.0")
]
NEW_ABI_BY_PYTHON: dict[str, dict[str, bool]] = dict.fromkeys(DIFFERENT, OLD_UNTIL_3_6)
ABSEIL = re.compile(r"lts_(\d{8})")
"""The version of Abseil in the name of a symbol."""
ABSEILS = ("20210324", "20211102", "20220623", "20230125", "20230802", "20250127", "20250814")
"""The versions of Abseil that releases were built with."""


def new_abi(build: str, python: str) -> bool | None:
    """Whether the wheel of `tensorflow==1.14.0` for Python `3.7` has the new ABI; None if all are alike."""
    return NEW_ABI_BY_PYTHON.get(build, {}).get(python)
