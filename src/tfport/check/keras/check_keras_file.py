"""Check a Keras file on a target: what the `load_model` of its Keras does, and what changes silently."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from types import MappingProxyType

from tfport.atlas.keras_releases import TF_KERAS, KerasObject, KerasRelease
from tfport.atlas.target import KERAS_KIND, Target
from tfport.atlas.versions import version_key
from tfport.check.devices import GPU
from tfport.check.findings.finding import LOAD, Finding
from tfport.check.findings.keras_files import (
    KerasBackendLayer,
    KerasCompileSettings,
    KerasFileFinding,
    KerasInputRank,
    KerasLambda,
    KerasWeightsMismatch,
    UnknownKerasArgument,
    UnknownKerasObject,
)
from tfport.check.keras.causes import explain
from tfport.check.keras.compile_settings import always_compiles, compile_problems
from tfport.check.keras.custom import KerasWithCustom
from tfport.check.keras.environment import KerasEnvironment, bytecode_findings, layer_needs
from tfport.check.keras.generation import is_keras_1, is_keras_3, is_standalone, needs_h5py_2, since_keras_3
from tfport.check.keras.keras2 import load_with_keras_1, load_with_keras_2
from tfport.check.keras.keras3 import load_with_keras_3
from tfport.check.keras.keras3_calls import failing_calls
from tfport.check.keras.layer_shapes import Shape, layer_shapes
from tfport.check.keras.raised import VALUE_ERROR, Raised
from tfport.check.keras.saved_model import is_asked_of_keras
from tfport.check.keras.silent_changes import dropped_axis, silent_changes, stored_layers
from tfport.check.loaders import KERAS
from tfport.check.other_format import OtherFormat
from tfport.errors import Error
from tfport.formats.keras.records import BY_LAYER, Json, KerasFile, StoredWeight
from tfport.graph.model import Model
from tfport.startup.dataclass import replace

BACKENDS = {
    "TFSMLayer": "tensorflow",
    "JaxLayer": "jax",
    "FlaxLayer": "jax",
    "TorchModuleWrapper": "torch",
}
"""Layers that run with one backend only."""
LAYOUTS = ("h5", "keras", "json", "weights")
"""The layouts that a Keras loads; the others are loaded by TensorFlow or TensorFlow.js."""


def loads_keras_file(model: Model, target: Target, loaders: Sequence[str] | None) -> bool:
    """Whether the Keras of a target loads the model; an error if a Keras cannot be asked."""
    file = model.keras
    is_file = file is not None and file.layout in LAYOUTS
    if target.kind == KERAS_KIND:
        if not is_file and not is_asked_of_keras(model, target):
            raise OtherFormat(
                f"{target.name} loads Keras files, and {model.where} is a {model.format.name}",
                "name a TensorFlow, such as tensorflow==2.15.1",
                KERAS,
            )
        if other := next((name for name in loaders or () if name != KERAS), None):
            raise Error(f"{target.name} has one loader, `keras`; `{other}` is one of TensorFlow")
        return is_file
    return is_file and target.keras is not None and (loaders is None or tuple(loaders) == (KERAS,))


def keras_target(target: Target) -> Target:
    """The target with the notes that matter for Keras files."""
    release = target.keras
    notes = list(target.keras_notes)
    if target.kind != KERAS_KIND and target.named_keras is None and release is not None:
        notes.insert(0, f"{target.name} loads Keras files with {release.name}")
    if release is not None and needs_h5py_2(release):
        notes.append(
            f"{target.name} needs h5py before 3: with h5py 3 every file fails "
            "(`'str' object has no attribute 'decode'`)"
        )
    return replace(target, notes=[*target.notes, *notes]) if notes else target


def keras_findings(
    file: KerasFile, target: Target, custom: Mapping[str, KerasObject] = MappingProxyType({})
) -> list[Finding]:
    """Every reason why the Keras of a target does not load a file, or answers differently.

    `custom` are the classes and functions that the program registers.
    """
    release = target.keras
    assert release is not None
    if custom:
        release = KerasWithCustom.of(release, custom)
    environment = KerasEnvironment(
        has_tensorflow=target.build is not None or not is_keras_3(release),
        has_gpu=target.device == GPU if target.build is not None else None,
        pythons=tuple(target.build.facts.get("pythons") or ()) if target.build is not None else (),
    )
    return [finding.on_target(target) for finding in findings_in(file, release, environment)]


def findings_in(
    file: KerasFile, release: KerasRelease, environment: KerasEnvironment
) -> Iterator[KerasFileFinding]:
    """Every reason why a Keras in an environment does not load a file, or answers differently."""
    raised = simulated_load(file, release)
    seen: set[tuple[object, ...]] = set()
    for error in raised:
        finding = error.reported()
        key = (
            finding.code,
            finding.layer,
            finding.class_name,
            finding.attr,
            getattr(finding, "object_name", ""),
        )
        if key not in seen:
            seen.add(key)
            explain(finding)
            yield finding
    for change in silent_changes(file, release, environment.has_tensorflow):
        if not (isinstance(change, KerasInputRank) and raised):
            yield change
    if file.layout == "h5":
        yield from failing_calls(file.config, release)
    if not any(error.finding.code == KerasLambda.code for error in raised):
        yield from bytecode_findings(file, environment)
    if not any(error.finding.stage == LOAD for error in raised):
        yield from _compile_settings(file, release)
    yield from _backend_layers(file)
    yield from layer_needs(file, release, environment)


def _compile_settings(file: KerasFile, release: KerasRelease) -> Iterator[KerasFileFinding]:
    """What `load_model(path)`, which compiles the model, does not accept, in one finding."""
    problems = [] if always_compiles(file, release) else compile_problems(file, release)
    if problems:
        names = dict.fromkeys(_setting(problem.finding) for problem in problems)
        first = problems[0]
        text = f"{first.error}: {first.text}" if first.text else ""
        yield KerasCompileSettings(what=", ".join(names), says_text=text)


def _setting(finding: KerasFileFinding) -> str:
    """`the loss `focal``: what the target does not know."""
    if isinstance(finding, UnknownKerasObject):
        return f"the {finding.kind} `{finding.object_name}`"
    if isinstance(finding, UnknownKerasArgument):
        return f"`{finding.argument}` of the optimizer {finding.class_name}"
    return f"`{finding.class_name}`" if finding.class_name else "its settings"


def _backend_layers(file: KerasFile) -> Iterator[KerasFileFinding]:
    """The layers that need a backend, which a target does not say."""
    for name, class_name, _ in stored_layers(file.config):
        if backend := BACKENDS.get(class_name):
            yield KerasBackendLayer(
                layer=name,
                class_name=class_name,
                op=class_name,
                backend=backend,
                doubt="it loads if that backend is in use",
            )


def simulated_load(file: KerasFile, release: KerasRelease) -> list[Raised]:
    """The errors of `load_model(path, compile=False)`: first the one it raises, then further ones."""
    load = load_with_keras_2
    if is_keras_1(release) or is_keras_3(release):
        load = load_with_keras_1 if is_keras_1(release) else load_with_keras_3
    compiled = compile_problems(file, release) if always_compiles(file, release) else []
    return [*load(file, release), *weight_problems(file, release), *compiled]


# Weights that do not fit the layers that a release creates from the configuration.

GRU, BIDIRECTIONAL = "GRU", "Bidirectional"
SPECTRAL, VECTOR = "SpectralNormalization", "vector_u"
LAYERS, DEPENDENCIES = "layers", "_layer_checkpoint_dependencies"
"""The groups of an archive that hold the weights of the layers of a model."""
FIRST_IN_LAYERS = "2.15"
"""The first Keras 2 that looks for the weights of layers in `layers`, as every tf-keras does."""
OPTIONAL_TOP = "3.6"
"""The first Keras 3 that loads weights without a group for those of the model itself."""
KERNEL_AND_BIAS = ("Dense", "Conv1D", "Conv2D", "Conv3D")
NORMALIZATIONS = {"BatchNormalization": "gamma", "LayerNormalization": "gamma"}
"""Layers whose weights have the sizes of `axis`, with the name of the first weight."""


def weight_problems(file: KerasFile, release: KerasRelease) -> Iterator[Raised]:
    """The errors when the weights of a file are assigned."""
    if file.layout == "h5" and is_keras_3(release):
        yield from _sizes_of_dropped_axes(file, release)
    if file.weights is None or file.config is None:
        return
    if file.weights.layout != BY_LAYER:
        if file.layout == "keras" and not is_keras_3(release) and (moved := _moved(file, release)):
            yield moved
        elif file.layout == "keras" and is_keras_3(release) and not since_keras_3(release, OPTIONAL_TOP):
            yield from _without_top_group(file)
        return
    lists = file.weights.lists
    with_weights = [name for name, weights in lists.items() if weights]
    for name, class_name, config in _outer_layers(file.config):
        shapes = [weight.shape for weight in lists.get(name, ())]
        if not shapes:
            continue
        number = with_weights.index(name)
        if class_name == BIDIRECTIONAL and isinstance(inner := config.get("layer"), Mapping):
            class_name, config = str(inner.get("class_name")), inner.get("config") or {}
            shapes = shapes[: len(shapes) // 2]
        if not shapes or not isinstance(config, Mapping):
            continue
        if class_name == GRU and _resets_after(release) and _has_plain_bias(config, shapes):
            yield _gru(name, number, shapes[-1], release)
        elif class_name == SPECTRAL and (wrong := _other_order(name, number, lists[name], config, release)):
            yield wrong
        elif class_name in NORMALIZATIONS and is_keras_3(release) and _is_joint(config, shapes[0]):
            yield _mismatch(name, number, NORMALIZATIONS[class_name], shapes[0][-1:], shapes[0], release)


def _sizes_of_dropped_axes(file: KerasFile, release: KerasRelease) -> Iterator[Raised]:
    """The errors for normalization whose `axis` the loader drops, if the default axis has another size."""
    dropped = [
        (name, class_name, config["axis"])
        for name, class_name, config in stored_layers(file.config)
        if class_name in NORMALIZATIONS
        and isinstance(config.get("axis"), int)
        and dropped_axis(class_name, config, release)
    ]
    shapes = layer_shapes(file) if dropped else {}
    for name, class_name, axis in dropped:
        for shape in shapes.get(name, ())[:1]:
            stored, expected = shape[axis : axis + 1] if -len(shape) <= axis < len(shape) else (), shape[-1:]
            if stored and None not in (*stored, *expected) and stored != expected:
                yield _mismatch(name, 0, NORMALIZATIONS[class_name], expected, stored, release)


def _without_top_group(file: KerasFile) -> Iterator[Raised]:
    """The error for weights without the group `vars` at the top, which every Keras writes, if only empty."""
    assert file.weights is not None
    if not file.weights.has_top_group:
        text = "A total of 1 objects could not be loaded. Example error message for object …"
        what = "the group `vars` at the top of its weights is missing"
        yield Raised(VALUE_ERROR, text, KerasWeightsMismatch(what=what))


def _moved(file: KerasFile, release: KerasRelease) -> Raised | None:
    """The error where the weights of an archive are in another group than this Keras 2 looks into."""
    assert file.weights is not None
    assert file.config is not None
    is_new = release.package == TF_KERAS or version_key(release.version) >= version_key(FIRST_IN_LAYERS)
    expected = LAYERS if is_new else DEPENDENCIES
    other = DEPENDENCIES if expected == LAYERS else LAYERS
    if any(path.startswith(f"{expected}/") for path in file.weights.lists):
        return None
    for name, class_name, _ in _outer_layers(file.config):
        stored = file.weights.lists.get(f"{other}/{name}")
        if stored:
            names = [f"{name}/{weight}:0" for weight in ("kernel", "bias")[: len(stored)]]
            shown = names if class_name in KERNEL_AND_BIAS else "…"
            text = (
                f"Layer '{name}' expected {len(stored)} variables, but received 0 variables during loading. "
                f"Expected: {shown}"
            )
            what = f"the file has them in `{other}`, and this release looks into `{expected}`"
            return Raised(
                VALUE_ERROR, text, KerasWeightsMismatch(layer=name, class_name=class_name, what=what)
            )
    return None


def _outer_layers(config: Mapping[str, Json]) -> Iterator[tuple[str, str, Mapping[str, Json]]]:
    inner = config.get("config")
    layers = inner if isinstance(inner, list) else inner.get("layers") if isinstance(inner, Mapping) else None
    for layer in layers if isinstance(layers, list) else ():
        options = layer.get("config") if isinstance(layer, Mapping) else None
        if isinstance(options, Mapping):
            yield str(options.get("name") or layer.get("name") or ""), str(layer.get("class_name")), options


def _resets_after(release: KerasRelease) -> bool:
    """Whether `reset_after` of GRU is true where the configuration has none, as since TensorFlow 2."""
    return not is_standalone(release) and version_key(release.version) >= version_key("2")


def _has_plain_bias(config: Mapping[str, Json], shapes: list[tuple[int, ...]]) -> bool:
    return "reset_after" not in config and config.get("use_bias", True) is True and len(shapes[-1]) == 1


def _other_order(
    name: str, number: int, weights: list[StoredWeight], config: Mapping[str, Json], release: KerasRelease
) -> Raised | None:
    """The error where a release has the vector of spectral normalization elsewhere among its weights.

    It comes after the weights of the layer inside; if that layer is frozen, before them, but not in Keras 3.0
    and 3.1.
    """
    inner = config.get("layer")
    options = inner.get("config") if isinstance(inner, Mapping) else None
    is_frozen = isinstance(options, Mapping) and options.get("trainable") is False
    is_first = is_frozen and (not is_keras_3(release) or since_keras_3(release, "3.2"))
    expected, stored = (weights[0], weights[-1]) if is_first else (weights[-1], weights[0])
    if expected.name.rpartition("/")[2].partition(":")[0] == VECTOR or len(weights) == 1:
        return None
    return _mismatch(name, number, VECTOR, stored.shape, expected.shape, release)


def _is_joint(config: Mapping[str, Json], shape: tuple[int, ...]) -> bool:
    """Whether a layer has a weight for several axes together."""
    axis = config.get("axis")
    return isinstance(axis, list) and len(axis) > 1 and len(shape) > 1


def _gru(name: str, number: int, shape: tuple[int, ...], release: KerasRelease) -> Raised:
    if is_keras_3(release):
        return _mismatch(name, number, "gru_cell/bias", (2, *shape), shape, release)
    what = (
        "the file is from a release whose GRU resets before the matrix product, and this one resets after it"
    )
    text = "GRU(reset_after=False) is not compatible with GRU(reset_after=True)"
    return Raised(VALUE_ERROR, text, KerasWeightsMismatch(layer=name, class_name=GRU, op=GRU, what=what))


def _mismatch(
    name: str,
    number: int,
    weight: str,
    expected: Shape,
    stored: Shape,
    release: KerasRelease,
) -> Raised:
    text = (
        "The shape of the target variable and the shape of the target value in "
        "`variable.assign(value)` must match. "
        f"variable.shape={expected}, Received: value.shape={stored}. Target variable: <KerasVariable "
        f"shape={expected}, dtype=float32, path={name}/{weight}>"
    )
    if since_keras_3(release, "3.6"):
        text = (
            f"Shape mismatch in layer #{number} (named {name})for weight {name}/{weight}. Weight "
            "expects shape "
            f"{expected}. Received saved weight with shape {stored}"
        )
    what = f"it creates {name}/{weight} with the shape {expected}, and the file has {stored}"
    return Raised(VALUE_ERROR, text, KerasWeightsMismatch(layer=name, what=what))
