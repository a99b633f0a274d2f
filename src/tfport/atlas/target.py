"""A runtime that a model is checked on, or rewritten for.

What a text such as `tensorflow==2.8` refers to is decided in `tfport.atlas.resolve.targets`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol

from tfport.atlas.atlas import Build
from tfport.atlas.keras_releases import KerasRelease, keras_of_tensorflow
from tfport.atlas.lite.releases import LiteRegistry, lite_of_tensorflow
from tfport.atlas.tfjs.releases import TfjsSource
from tfport.registry.registry import OpRegistry, Source
from tfport.startup.dataclass import dataclass, field

DEVICES = ("cpu", "gpu")
OURS = "tfport"
CONVERTER_KIND, KERAS_KIND, LITE_KIND, TFJS_KIND = "converter", "keras", "lite", "tfjs"


class DiagnosedLibrary(Source, Protocol):
    """A custom-op library on a target."""

    @property
    def errors(self) -> Sequence[Any]:
        """The findings that say why the target does not load it."""
        ...


@dataclass(frozen=True, eq=False)
class Target:
    """A runtime to check a model on, or to fix it for."""

    name: str
    """For people: `tensorflow 2.8.4 + tensorflow-text 2.8.2`."""
    requirement: str
    """The text that names the target."""
    registry: OpRegistry
    build: Build | None
    """Its TensorFlow."""
    addons: tuple[Build, ...] = ()
    device: str = "cpu"
    kind: str = "tensorflow"
    """`tensorflow`, `serving`, `reduced`, `recorded`, `keras`, `lite`, `converter`, `tfjs` or `tfport`."""
    notes: list[str] = field(default_factory=list)
    """What was derived, not recorded."""
    capability: str | None = None
    """The compute capability of its GPU, if known."""
    libraries: tuple[DiagnosedLibrary, ...] = ()
    """The custom-op libraries among the sources of its registry."""
    add_libraries: Callable[[Target], Target] | None = None
    """Adds these libraries to another target."""
    named_keras: KerasRelease | None = None
    """The Keras that its text names, if it names one."""
    keras_notes: list[str] = field(default_factory=list)
    """Notes that matter only for Keras files."""
    named_lite: LiteRegistry | None = None
    """The TensorFlow Lite interpreter that its text names, if it names one."""
    tfjs: TfjsSource | None = None
    """The release of TensorFlow.js and its backend, if the target is one."""
    converter: str = ""
    """The TensorFlow release of the TensorFlow Lite converter, if the target is one."""
    delegate: str | None = None
    """The delegate of the interpreter: `xnnpack`, `flex` or `none`; None for those that it has by default."""

    def __str__(self) -> str:
        return self.name

    def __repr__(self) -> str:
        return f"<Target {self.name}>"

    @property
    def lite(self) -> LiteRegistry | None:
        """The interpreter for TensorFlow Lite files: the named one, or that of its TensorFlow."""
        if self.named_lite is not None or self.kind != "tensorflow" or self.build is None:
            return self.named_lite
        return lite_of_tensorflow(self.build.version)

    @property
    def keras(self) -> KerasRelease | None:
        """The Keras that loads Keras files: the named one, or that of its TensorFlow; None without one."""
        if self.named_keras is not None or self.kind != "tensorflow" or self.build is None:
            return self.named_keras
        return keras_of_tensorflow(self.build.version)
