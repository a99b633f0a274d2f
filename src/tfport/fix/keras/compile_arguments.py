"""The arguments of `compile` that a file states, in the words of a release of Keras.

They are written if the release has the optimizer and the losses with the same options; a metric that it does
not have is left out. The state of an optimizer is never written: training starts with a new one. What the
loader says about the arguments is asked of `check`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from tfport.atlas.keras_releases import KerasObject
from tfport.check.keras.compile_settings import BY_SHAPE, REGISTERED, compile_problems
from tfport.fix.keras.dialect import Dialect
from tfport.fix.keras.layer_options import plain, typed
from tfport.formats.keras.records import Json, KerasFile
from tfport.startup.dataclass import dataclass, field

LEGACY, COMPILED = "is_legacy_optimizer", "jit_compile"
"""Keras 2.11 to 2.15 read an optimizer as one of older releases, with other options, unless it says so here;
only their own have the second option."""
NO_EFFECT = frozenset({"name", "dtype", LEGACY, COMPILED, "ema_momentum", "ema_overwrite_frequency", "fn"})
"""Options that do not change how a model learns, or only together with others."""
OFF = (None, False, 0, 0.0, -1)
"""Values with which an option has no effect: no decay, no weights, the last axis."""
REDUCTIONS = ("sum_over_batch_size", "sum", "none")
AUTOMATIC = ("auto", "mean")
"""Reductions that are `sum_over_batch_size` where a single device trains."""
CLASSES = {
    "mae": "MeanAbsoluteError", "mse": "MeanSquaredError", "mape": "MeanAbsolutePercentageError",
    "msle": "MeanSquaredLogarithmicError", "kld": "KLDivergence", "kl_divergence": "KLDivergence",
    "kullback_leibler_divergence": "KLDivergence", "mean_absolute_error": "MeanAbsoluteError",
    "mean_squared_error": "MeanSquaredError", "mean_squared_logarithmic_error": "MeanSquaredLogarithmicError",
    "mean_absolute_percentage_error": "MeanAbsolutePercentageError", "hinge": "Hinge", "poisson": "Poisson",
    "squared_hinge": "SquaredHinge", "categorical_hinge": "CategoricalHinge",
    "binary_accuracy": "BinaryAccuracy", "categorical_accuracy": "CategoricalAccuracy",
    "sparse_categorical_accuracy": "SparseCategoricalAccuracy", "binary_crossentropy": "BinaryCrossentropy",
    "categorical_crossentropy": "CategoricalCrossentropy",
    "sparse_categorical_crossentropy": "SparseCategoricalCrossentropy",
}  # fmt: skip
"""The class of a metric that is stored as a function."""
WRAPPERS = ("MeanMetricWrapper", "SumOverBatchSizeMetricWrapper")
METRICS = ("metrics", "weighted_metrics")


@dataclass
class CompileArguments:
    """The arguments for a release; `stored` is None if they are left out, and `why` says the reason."""

    stored: dict[str, Json] | None = None
    why: str = ""
    dropped: list[str] = field(default_factory=list)
    """The metrics that were left out."""


class _NotThere(Exception):
    """The release has no such object or option."""


def compile_arguments(file: KerasFile, dialect: Dialect, outputs: int) -> CompileArguments:
    """The arguments of `compile` in a file, as a release stores them; `outputs` is how many the model has."""
    result = CompileArguments()
    training = file.training or {}
    try:
        optimizer = _optimizer(training.get("optimizer_config") or training.get("optimizer"), dialect)
        written: dict[str, Json] = {
            "optimizer" if dialect.is_3 else "optimizer_config": optimizer,
            "loss": _nested(training.get("loss"), lambda stored: _loss(stored, dialect)),
            "loss_weights": plain(training.get("loss_weights")),
        }
    except _NotThere as error:
        result.why = str(error)
        return result
    for key in METRICS:
        written[key] = _metrics(training.get(key), dialect, outputs, result.dropped)
    layout = "keras" if dialect.is_3 else "h5"
    as_written = KerasFile(file.where, layout, None, None, dialect.version, training=written)
    if problems := compile_problems(as_written, dialect.release):
        result.why = problems[0].text
        return result
    result.stored = written
    return result


def _nested(stored: Json, write: Callable[[Json], Json]) -> Json:
    """Losses or metrics in their structure: one, or a list or dictionary by outputs."""
    if stored is None or isinstance(stored, str) or (isinstance(stored, Mapping) and "class_name" in stored):
        return write(stored) if stored is not None else None
    if isinstance(stored, Mapping):
        return {name: _nested(inner, write) for name, inner in stored.items()}
    if isinstance(stored, list | tuple):
        return [_nested(inner, write) for inner in stored]
    raise _NotThere(f"{stored!r:.60} is no loss")


def _optimizer(stored: Json, dialect: Dialect) -> Json:
    if isinstance(stored, str):
        stored = {"class_name": stored, "config": {}}
    if not isinstance(stored, Mapping) or not isinstance(stored.get("config"), Mapping):
        raise _NotThere("the file states no optimizer")
    name = str(stored.get("class_name")).removeprefix(REGISTERED)
    names = {other.lower(): other for other in dialect.release.names("optimizer")}
    known = _known("optimizer", name, dialect) or _known("optimizer", names.get(name.lower(), ""), dialect)
    if known is None:
        raise _NotThere(f"{dialect.release.name} has no optimizer {name}")
    options = _options(known, stored["config"], dialect)
    if any(isinstance(value, Mapping | list) for value in options.values()):
        raise _NotThere(f"the options of the optimizer {name} are objects")
    if COMPILED in known.arguments and not dialect.is_3:
        options[LEGACY] = False
    return typed(known.name, options, "keras.optimizers", dialect)


def _loss(stored: Json, dialect: Dialect) -> Json:
    if isinstance(stored, Mapping) and stored.get("class_name") == "function":
        stored = stored.get("config")
    if isinstance(stored, str):
        if dialect.release.find("loss", stored) is None:
            raise _NotThere(f"{dialect.release.name} has no loss {stored}")
        return stored
    name = str(stored.get("class_name"))
    known, config = _known("loss", name, dialect), stored.get("config")
    if known is None or known.is_function or not isinstance(config, Mapping):
        raise _NotThere(f"{dialect.release.name} has no loss {name}")
    options = _options(known, config, dialect)
    reduction = options.get("reduction")
    if reduction in AUTOMATIC or reduction is None:
        options.pop("reduction", None)
    elif reduction not in REDUCTIONS:
        raise _NotThere(f"{dialect.release.name} has no reduction {reduction!r:.60}")
    return typed(name, {**options, "name": config.get("name")}, "keras.losses", dialect)


def _metrics(stored: Json, dialect: Dialect, outputs: int, dropped: list[str]) -> Json:
    """Metrics without those that the release does not have; of one output, they are a plain list."""
    if isinstance(stored, Mapping) and "class_name" not in stored:
        return {name: _metrics(inner, dialect, 1, dropped) for name, inner in stored.items()}
    if isinstance(stored, list | tuple):
        if outputs == 1:
            flat = [inner for part in stored for inner in (part if isinstance(part, list) else [part])]
            kept = (_metrics(inner, dialect, 0, dropped) for inner in flat)
            return [metric for metric in kept if metric is not None]
        return [_metrics(inner, dialect, 1, dropped) for inner in stored]
    if stored is None or stored in BY_SHAPE:
        return stored
    try:
        return _metric(stored, dialect)
    except _NotThere:
        config = stored.get("config") if isinstance(stored, Mapping) else None
        dropped.append(str(config.get("name") if isinstance(config, Mapping) else stored))
        return None


def _metric(stored: Json, dialect: Dialect) -> Json:
    """A metric as an object of a class, whose name and options say what it computes in every release."""
    if isinstance(stored, str):
        stored = {"class_name": CLASSES.get(stored, stored), "config": {"name": stored}}
    class_name, config = stored.get("class_name"), stored.get("config")
    if class_name == "function":
        class_name, config = CLASSES.get(str(config)), {"name": config}
    elif class_name in WRAPPERS and isinstance(config, Mapping):
        class_name = CLASSES.get(str(_function(config.get("fn"))))
    known = _known("metric", str(class_name), dialect)
    if known is None or known.is_function or not known.exports or not isinstance(config, Mapping):
        raise _NotThere(f"{dialect.release.name} has no metric {class_name}")
    options = {**_options(known, config, dialect), "name": config.get("name")}
    return typed(known.name, options, "keras.metrics", dialect)


def _function(stored: Json) -> Json:
    return stored.get("config") if isinstance(stored, Mapping) else stored


def _known(kind: str, name: str, dialect: Dialect) -> KerasObject | None:
    """A class of the release; losses and metrics of other packages have their package before the name."""
    return dialect.release.find(kind, name) if name else None


def _options(known: KerasObject, config: Mapping[str, Json], dialect: Dialect) -> dict[str, Any]:
    """The options that a class has; an option that it does not have must be without effect."""
    options = {}
    for name, value in config.items():
        if name in known.arguments and name not in ("dtype", "name"):
            options[name] = plain(value)
        elif name not in NO_EFFECT and value not in OFF:
            raise _NotThere(f"{known.name} of {dialect.release.name} has no option `{name}`")
    return options
