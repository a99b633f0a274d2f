"""Content of a configuration that Keras would execute, import or open if it loaded the file.

Nothing is decoded or looked up: what a configuration names is only compared with names.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator, Mapping

from tfport.formats.keras.records import Json, UnsafeContent

PACKAGES = frozenset({"keras", "keras_core", "keras_cv", "keras_hub", "keras_nlp", "tf_keras", "tensorflow"})
"""Packages whose classes are not custom code."""
COMPUTATIONS = re.compile(
    r"(tensorflow\.python\.|tensorflow\.)?(tf_)?keras\.(_tf_keras\.keras\.)?(src\.)?(api\.)?(_v2\.keras\.)?"
    r"(activations|ops|backend|layers|initializers|regularizers|constraints|losses|metrics|optimizers|random|math)\b.*"
)
"""Modules of Keras with functions that only compute."""
DANGEROUS_BUILTINS = frozenset(
    {"__import__", "breakpoint", "compile", "delattr", "eval", "exec", "getattr", "globals", "input", "open",
     "setattr", "vars"}
)  # fmt: skip
DANGEROUS_FUNCTIONS = frozenset(
    {"enable_unsafe_deserialization", "get_file", "load_model", "load_weights", "load_img", "load_data",
     "model_from_json", "model_from_yaml", "model_from_config", "deserialize", "deserialize_keras_object",
     "func_load", "save_model", "save_img", "set_custom_objects"}
)  # fmt: skip
LOOKUPS = frozenset({"StringLookup", "IntegerLookup", "TextVectorization", "IndexLookup"})
MODULES = {"function": "module", "output_shape": "output_shape_module"}
"""The key of the module of each function of a Lambda layer."""
REPEATED = "several members with the same name"
MARSHALLED = "a marshalled Python function"


def unsafe_config(config: Json) -> list[UnsafeContent]:
    """The unsafe content of a configuration."""
    return list(dict.fromkeys(_walk(config)))


def _walk(config: Json) -> Iterator[UnsafeContent]:
    pending: list[tuple[Json, str]] = [(config, "")]
    while pending:
        value, layer = pending.pop()
        if isinstance(value, dict):
            name = _name(value)
            layer = name if name and "class_name" in value else layer
            yield from _in_object(value, layer)
            pending += [(child, layer) for child in reversed(value.values())]
        elif isinstance(value, list):
            pending += [(child, layer) for child in reversed(value)]


def _name(value: Mapping[str, Json]) -> str:
    config = value.get("config")
    names = (config.get("name") if isinstance(config, dict) else None, value.get("name"))
    return next((name for name in names if isinstance(name, str)), "")


def _in_object(value: Mapping[str, Json], layer: str) -> Iterator[UnsafeContent]:
    kind, config, module = value.get("class_name"), value.get("config"), value.get("module")
    inner = config if isinstance(config, dict) else {}
    if isinstance(kind, str):
        where = layer or kind
        if _class_of(kind) == "Lambda" or _class_of(value.get("registered_name")) == "Lambda":
            yield from _in_lambda(inner, where)
        if kind == "__lambda__":
            yield UnsafeContent("lambda", where, MARSHALLED, _code(inner.get("value")))
        if kind in LOOKUPS and isinstance(path := inner.get("vocabulary"), str):
            yield UnsafeContent("path", where, f"a vocabulary in the file `{path[:200]}`")
        if kind == "TorchModuleWrapper" and "module" in inner:
            yield UnsafeContent("pickle", where, "a PyTorch module in a Python pickle")
        if kind == "TFSMLayer" and isinstance(path := inner.get("filepath"), str):
            yield UnsafeContent("path", where, f"a SavedModel in the folder `{path[:200]}`")
        for imported in (module, value.get("fn_module"), inner.get("fn_module")):
            if isinstance(imported, str):
                yield from _in_module(imported, kind, config, where)
        if leads_outside(_name(value)):
            yield UnsafeContent("name", where, "a name with a path to another folder")


def _class_of(name: Json) -> str:
    """The class without its package: `Lambda` of `keras.layers.Lambda` and of `Custom>Lambda`."""
    return re.split(r"[.>]", name)[-1] if isinstance(name, str) else ""


def _code(stored: Json) -> str:
    """The code of a function that is stored as text, or as a list with its defaults and closure."""
    code = stored[0] if isinstance(stored, list) and stored else stored
    return code if isinstance(code, str) else ""


def _in_lambda(config: Mapping[str, Json], where: str) -> Iterator[UnsafeContent]:
    """The functions of a Lambda layer. Keras 1 and 2 store code as a list, or as text with a type."""
    for key in ("function", "output_shape", "mask", "arguments"):
        value = config.get(key)
        has_code = config.get(f"{key}_type") == "lambda" or (key == "function" and isinstance(value, list))
        if has_code and isinstance(value, list | str):
            detail = MARSHALLED if key == "function" else f"{MARSHALLED} ({key})"
            yield UnsafeContent("lambda", where, detail, _code(value))
        elif (
            isinstance(value, dict)
            and "class_name" not in value
            and (module := _outside(value.get("module")))
        ):
            name = str(value.get("config"))
            yield UnsafeContent("module", where, f"`{module[:100]}.{name[:100]}`, which is outside Keras")
        elif isinstance(value, str) and (module := _outside(config.get(MODULES.get(key, "")))):
            yield UnsafeContent("module", where, f"`{module[:100]}.{value[:100]}`, which is outside Keras")
        elif isinstance(value, str) and value in DANGEROUS_FUNCTIONS:
            yield UnsafeContent("function", where, f"the function `{value}`")


def _outside(module: Json) -> str:
    """A module that is neither of Keras nor the program that saved the model; empty for others."""
    is_other = isinstance(module, str) and module.partition(".")[0] not in {*PACKAGES, "__main__"}
    return str(module) if is_other else ""


def _in_module(module: str, kind: str, config: Json, where: str) -> Iterator[UnsafeContent]:
    """A class or function by the module that Keras would import for it."""
    name = config if kind in ("function", "builtin") and isinstance(config, str) else kind
    shown = f"`{module[:100]}.{name[:100]}`"
    package = module.partition(".")[0]
    if package == "builtins":
        if not DANGEROUS_BUILTINS.isdisjoint((name, *module.split("."))):
            yield UnsafeContent("function", where, f"the function {shown}")
    elif package not in PACKAGES:
        yield UnsafeContent("module", where, f"{shown}, which is outside Keras")
    elif name in DANGEROUS_FUNCTIONS or (kind == "function" and not COMPUTATIONS.fullmatch(module)):
        yield UnsafeContent("function", where, f"the function {shown}")


def leads_outside(name: str) -> bool:
    """Whether a name, used as a path, leads to another folder."""
    return posixpath.isabs(name) or ".." in re.split(r"[/\\]", name)
