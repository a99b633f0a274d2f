"""Find the installed tvm-ffi, its headers and its library, without importing it."""

from __future__ import annotations

import importlib.metadata
import importlib.util
import re
from pathlib import Path

from tfport.extras import missing
from tfport.startup.dataclass import dataclass

PACKAGE, MODULE, LIBRARY = "apache-tvm-ffi", "tvm_ffi", "libtvm_ffi.so"


@dataclass(frozen=True, slots=True)
class TvmFfi:
    """An installed tvm-ffi."""

    version: tuple[int, int]
    folder: Path

    @property
    def includes(self) -> list[Path]:
        wanted = (self.folder / "include", self.folder / "3rdparty" / "dlpack" / "include")
        return [folder for folder in wanted if folder.is_dir()]

    @property
    def libraries(self) -> Path:
        return self.folder / "lib"

    @property
    def library(self) -> Path:
        return self.libraries / LIBRARY


def installed_tvm_ffi() -> TvmFfi:
    """The tvm-ffi of this environment; Error if it is not installed."""
    spec = importlib.util.find_spec(MODULE)
    if spec is None or not spec.submodule_search_locations:
        raise missing(MODULE, "a kernel in C++")
    numbers = re.findall(r"\d+", importlib.metadata.version(PACKAGE))
    return TvmFfi((int(numbers[0]), int(numbers[1])), Path(next(iter(spec.submodule_search_locations))))
