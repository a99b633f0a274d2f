"""When each loader notices a finding: what a finding class declares, and the declarations that many share.

Recorded from real binaries; `make truth` records it again:

- A session is built from the whole main graph, unused nodes included: every op, edge,
  kernel and device is resolved at load. Attributes are validated when a node runs.
  TensorFlow Serving (`serving`) does this.
- The C API (`capi`) builds that session and imports the graph a second time, which
  validates every attribute; since 1.14 also in the functions that the main graph calls.
- The body of a function is resolved when it runs. Loading runs what restores and
  initializes.
- Python in TensorFlow 1 (`python_1`) imports the graph and builds the session when it
  first runs something: at load only if there is something to restore or initialize.
- Python in TensorFlow 2 imports every function, called or not, as a graph of its own
  version. Of a model saved by TensorFlow 1 (`python_2`) it also imports the main graph;
  of one saved by TensorFlow 2 (`objects`) it never reads it. Kernels are chosen when
  something runs.
- `keras_1`, `keras_2` and `keras_objects` are the same paths in
  `tf.keras.models.load_model`.
- tfport's own runtime (`tfport`; `tfport_objects` for a model saved by TensorFlow 2)
  resolves only what it runs; of ops that a user defined (`custom`) it validates the whole
  definition.
- `dlopen` loads an op library.

`check.loaders` decides which path a loader takes.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping

from tfport.atlas.target import Target
from tfport.check.release_quirks import since
from tfport.startup.dataclass import dataclass, replace

LOAD, RUN = "load", "run"
LIVE, REACHED, LOADING, FIRST = "live", "reached", "loading", "first"
"""When the node runs; at load if anything runs it; at load if loading runs it; when anything first runs."""
SKIPPED = "skipped"
"""The loader does not look at this at all: nothing is reported."""
When = str | None
"""None: the loader does not notice, and the finding is a note."""
Stages = tuple[When, When, When]
"""In the main graph, in a function that it calls, and in one that it does not call."""
Releases = Mapping[str, Stages]
"""The stages by the release that introduced them; `0` stands for the first release."""

NEVER: Stages = (None, None, None)
NOT_CHECKED: Stages = (SKIPPED, SKIPPED, SKIPPED)
AT_LOAD: Stages = (LOAD, LOAD, LOAD)
AT_RUN: Stages = (RUN, RUN, RUN)
WHEN_RUN: Stages = (LIVE, LIVE, None)
MAIN_AT_LOAD: Stages = (LOAD, LIVE, None)
CALLED_AT_LOAD: Stages = (LOAD, LOAD, None)
AT_FIRST_RUN: Stages = (FIRST, LIVE, None)
PATHS = (
    "serving", "capi", "python_1", "python_2", "objects", "keras_1", "keras_2", "keras_objects", "tfport",
    "tfport_objects", "custom", "dlopen",
)  # fmt: skip
MAIN_GRAPH, CALLED_FUNCTION, UNCALLED_FUNCTION = range(3)
"""The indices of `Stages`."""


@dataclass(frozen=True, eq=False)
class Noticed:
    """When each loader notices a finding; a path that is None behaves like the path in `_SAME_AS`."""

    serving: Stages | Releases
    capi: Stages | Releases | None = None
    python_1: Stages | Releases | None = None
    python_2: Stages | Releases | None = None
    objects: Stages | Releases | None = None
    """As in `python_2`, but nothing is noticed in the main graph."""
    keras_1: Stages | Releases | None = None
    keras_2: Stages | Releases | None = None
    keras_objects: Stages | Releases | None = None
    tfport: Stages | Releases = NEVER
    tfport_objects: Stages | Releases | None = None
    custom: Stages | Releases | None = None
    dlopen: Stages | Releases = NOT_CHECKED
    only_by_name: bool = False
    """Whether it matters only in a function that is called by name, as in TF1."""
    folded: bool = False
    """Whether it disappears with a node that is folded before its kernel is created."""
    in_taken_branch: bool = False
    """Whether it goes unnoticed in a branch that is not taken."""

    def stages(self, path: str, target: Target | None = None) -> Stages:
        """When a loading path of a release notices it; without a target, as in the newest."""
        return _stages(self, path, target)

    def earliest(self, path: str) -> Stages:
        """When a loading path of the first releases notices it."""
        declared = self._declared(path)
        return declared["0"] if isinstance(declared, Mapping) else declared

    def _declared(self, path: str) -> Stages | Releases:
        declared: Stages | Releases | None = getattr(self, path)
        if declared is not None:
            return declared
        if path == "objects":
            _, called, uncalled = _at(self._declared("python_2"), None)
            return (None, called, uncalled)
        return self._declared(_SAME_AS[path])


_SAME_AS = {
    "capi": "serving", "python_1": "capi", "python_2": "serving", "keras_1": "python_1",
    "keras_2": "python_2", "keras_objects": "objects", "tfport_objects": "tfport", "custom": "tfport",
}  # fmt: skip


@functools.lru_cache(8192)
def _stages(noticed: Noticed, path: str, target: Target | None) -> Stages:
    return _at(noticed._declared(path), target)


def _at(declared: Stages | Releases, target: Target | None) -> Stages:
    if not isinstance(declared, Mapping):
        return declared
    releases = [r for r in declared if r == "0" or target is None or since(target, r)]
    return declared[releases[-1]]


STRUCTURE = Noticed(
    serving=MAIN_AT_LOAD,
    capi={"0": MAIN_AT_LOAD, "1.14": CALLED_AT_LOAD},
    python_2=AT_LOAD,
    tfport=WHEN_RUN,
)
"""What building a graph from the file needs: ops, edges, attributes that determine the number of edges."""
NAMES = replace(STRUCTURE, tfport=NEVER)
INPUT_TYPES = replace(STRUCTURE, tfport=NEVER, custom=WHEN_RUN)
ORDER = replace(STRUCTURE, python_1={"0": AT_FIRST_RUN, "1.8": MAIN_AT_LOAD, "1.14": CALLED_AT_LOAD})
"""Cycles; releases before 1.8 import a graph without looking for them."""
ATTRIBUTES = Noticed(
    serving=WHEN_RUN,
    capi=MAIN_AT_LOAD,
    python_1={"0": WHEN_RUN, "1.8": MAIN_AT_LOAD},
    python_2=AT_LOAD,
    tfport=WHEN_RUN,
    folded=True,
    in_taken_branch=True,
)
"""What importing a graph and creating a kernel validate."""
ATTRIBUTE_VALUES = replace(ATTRIBUTES, tfport=NEVER, custom=WHEN_RUN)
DEPRECATION = replace(ATTRIBUTES, tfport=NEVER, in_taken_branch=False)
SIZES = replace(
    ATTRIBUTES,
    capi={"0": MAIN_AT_LOAD, "1.14": CALLED_AT_LOAD},
    python_1={"0": MAIN_AT_LOAD, "1.14": CALLED_AT_LOAD},
)
"""What shape inference validates too."""
INPUT_SHAPES = Noticed(
    serving=WHEN_RUN,
    capi={"0": MAIN_AT_LOAD, "1.14": CALLED_AT_LOAD},
    python_2=AT_LOAD,
)
OUTPUT_SHAPES = Noticed(serving=NEVER, capi=(LOAD, None, None), python_2=AT_LOAD)
INPUT_COUNTS = replace(SIZES, in_taken_branch=False)
ELEMENT_TYPES = Noticed(serving=WHEN_RUN, capi=MAIN_AT_LOAD, python_2=AT_LOAD, in_taken_branch=True)
KERNELS = Noticed(
    serving=MAIN_AT_LOAD,
    python_1=AT_FIRST_RUN,
    python_2=WHEN_RUN,
    tfport=WHEN_RUN,
    folded=True,
    in_taken_branch=True,
)
"""What placing a graph on devices needs."""
PLACEMENT = replace(KERNELS, tfport=NEVER, in_taken_branch=False)
DEVICES = replace(
    KERNELS,
    serving={"0": (LOAD, None, None), "1.14": MAIN_AT_LOAD},
    python_1={"0": (FIRST, None, None), "1.14": AT_FIRST_RUN},
    python_2={"0": (LIVE, None, None), "2.1": WHEN_RUN},
    tfport=NEVER,
)
"""Devices; before 1.14 a session ignores those in functions, and Python 2.0 places functions softly."""
DEVICE_NAMES = replace(PLACEMENT, python_1=MAIN_AT_LOAD, python_2=AT_LOAD)
KERNEL_LIMITS = Noticed(serving=WHEN_RUN, in_taken_branch=True)
BY_NAME = Noticed(serving=(None, LIVE, None), python_2=NEVER, only_by_name=True)
"""What matters in a function that is called by name: it runs as part of the call, on its device."""
CALL_DEVICES = Noticed(serving=(None, LIVE, None), python_2=NEVER, in_taken_branch=True)
"""What matters in a function that runs on the device of its call."""
IN_CALLED_FUNCTIONS = Noticed(serving=(None, LIVE, None), python_2=NEVER, objects=NEVER)
"""What a session of TensorFlow 1 does to functions that it calls."""
COMPILED = Noticed(serving=WHEN_RUN)
"""What XLA must compile: when the call that asks for it runs first."""
CALLED_FUNCTIONS = Noticed(serving=WHEN_RUN, python_2=AT_LOAD, tfport=WHEN_RUN)
CALLEES = Noticed(
    serving={"0": WHEN_RUN, "1.14": MAIN_AT_LOAD},
    python_1={"0": WHEN_RUN, "1.14": AT_FIRST_RUN},
    python_2=AT_LOAD,
    tfport=WHEN_RUN,
)
CALL_TYPES = Noticed(serving=WHEN_RUN)
FUNCTION_NAMES = Noticed(
    serving=AT_LOAD,
    python_1={"0": CALLED_AT_LOAD, "1.14": AT_LOAD},
    python_2={"0": AT_LOAD, "2.5": NEVER},
    objects=(None, LOAD, LOAD),
)
RECURSION = Noticed(serving=NEVER, python_2=AT_LOAD, tfport=WHEN_RUN)
GENERIC_FUNCTIONS = Noticed(serving=NEVER, python_1=(None, LOAD, LOAD), python_2=AT_LOAD)
OUTDATED_OPS = Noticed(serving=NEVER, python_2=(REACHED, LOAD, LOAD))
COLOCATION = Noticed(serving=NEVER, capi=(LOAD, None, None), python_2=(LOAD, None, None))

FILES = Noticed(serving=AT_LOAD, objects=AT_LOAD, tfport=AT_LOAD)
"""What every loader reads."""
VERSIONS = Noticed(
    serving=AT_LOAD,
    python_1={"0": (FIRST, FIRST, FIRST), "1.8": AT_LOAD},
    objects=NOT_CHECKED,
    tfport=NOT_CHECKED,
)
GPUS = Noticed(serving=AT_RUN, objects=AT_RUN, tfport=AT_RUN)
KERAS = Noticed(
    serving=NOT_CHECKED,
    objects=NOT_CHECKED,
    keras_1=AT_LOAD,
    keras_2=AT_LOAD,
    keras_objects=AT_LOAD,
    tfport=NOT_CHECKED,
)
"""What only `tf.keras.models.load_model` does."""
LITE = Noticed(serving=NOT_CHECKED, objects=NOT_CHECKED, tfport=NOT_CHECKED)
"""What only an interpreter of TensorFlow Lite does."""
OBJECTS = Noticed(serving=NOT_CHECKED, objects=AT_LOAD, keras_1=AT_LOAD, tfport=NOT_CHECKED)
"""What Python needs to restore the objects of a TensorFlow 2 model."""
DLOPEN = replace(STRUCTURE, tfport=NOT_CHECKED, dlopen=AT_LOAD)
"""What makes `dlopen` or the registration of ops fail; the ops of the library are not registered then."""
DLOPEN_IGNORES = Noticed(serving=NOT_CHECKED, objects=NOT_CHECKED, tfport=NOT_CHECKED, dlopen=NEVER)
"""What does not keep a library from loading."""
