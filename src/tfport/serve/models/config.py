"""What a server is asked to serve: TensorFlow Serving's ModelServerConfig as plain settings.

    config = read_config("models.config")            the text form, from a file
    settings_of(config)                              [ModelSettings("half_plus_two", "/models/half"), …]

What makes no sense is refused as TensorFlow Serving refuses it. Whether a version that a label
names is there is asked in `labels`; which versions there are, in `source`.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from google.protobuf import text_format

from tfport.errors import UnreadableFile
from tfport.formats.files import reason
from tfport.formats.proto import model_server_config_pb2 as pb
from tfport.serve.models.policy import AllVersions, LatestVersions, Policy, SpecificVersions
from tfport.serve.status import invalid_argument

PLATFORM = "tensorflow"
_ADDRESS = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://")
_POSITION = re.compile(r"^\d+:\d+ : ")


@dataclass(frozen=True, slots=True)
class ModelSettings:
    """One model that should be served."""

    name: str
    base_path: str
    """The folder of its versions, here or in an object store."""
    policy: Policy = field(default_factory=LatestVersions)
    labels: Mapping[str, int] = field(default_factory=dict)
    logging: pb.LoggingConfig | None = None
    """Which requests should be logged, and where."""


def one_model(name: str, base_path: str) -> pb.ModelServerConfig:
    """The configuration of a single model, as `--model_name` and `--model_base_path` ask for it."""
    path = base_path if is_address(base_path) else os.path.abspath(base_path)
    config = pb.ModelServerConfig()
    config.model_config_list.config.add(name=name, base_path=path, model_platform=PLATFORM)
    return config


def read_config(path: str) -> pb.ModelServerConfig:
    """The configuration in a file."""
    try:
        with open(path, encoding="utf-8") as file:
            return parse_config(file.read(), path)
    except OSError as error:
        raise UnreadableFile(f"{path}: {reason(error)}") from None
    except UnicodeDecodeError as error:
        raise UnreadableFile(f"{path}, byte {error.start}: expected text, found other bytes") from None


def parse_config(text: str, where: str) -> pb.ModelServerConfig:
    """The configuration that a text says; a field that nobody knows is an error, with its store."""
    try:
        return text_format.Parse(text, pb.ModelServerConfig())
    except text_format.ParseError as error:
        message = _POSITION.sub("", str(error)).replace(f"{pb.DESCRIPTOR.package}.", "")
        line = f", line {error.GetLine()}" if error.GetLine() else ""
        raise UnreadableFile(f"{where}{line}: {message}") from None


def settings_of(config: pb.ModelServerConfig) -> list[ModelSettings]:
    """The models of a configuration; a refusal where it contradicts itself."""
    if config.WhichOneof("config") == "custom_model_config":
        raise invalid_argument("custom_model_config is not supported, only model_config_list")
    models: dict[str, ModelSettings] = {}
    for model in config.model_config_list.config:
        if model.name in models:
            raise invalid_argument(f"Illegal to list model {model.name} multiple times in config list")
        models[model.name] = _settings(model)
    return list(models.values())


def is_address(path: str) -> bool:
    """Whether a path is one of an object store, `s3://…`."""
    return _ADDRESS.match(path) is not None


def _settings(model: pb.ModelConfig) -> ModelSettings:
    if not model.name:
        raise invalid_argument(f"a model has no name; its base_path is `{model.base_path}`")
    if not is_address(model.base_path) and not os.path.isabs(model.base_path):
        raise invalid_argument(
            f"Expected model {model.name} to have an absolute path or URI; got base_path()={model.base_path}"
        )
    _known_platform(model)
    return ModelSettings(
        model.name,
        model.base_path,
        _policy(model.model_version_policy),
        dict(model.version_labels),
        model.logging_config if model.HasField("logging_config") else None,
    )


def _known_platform(model: pb.ModelConfig) -> None:
    """Refuse other platforms; where none is said, which TensorFlow Serving refuses, it is TensorFlow."""
    if model.model_type and model.model_platform:
        raise invalid_argument(
            "Illegal setting both ModelServerConfig::model_type (deprecated) and "
            f"ModelServerConfig::model_platform, model name is {model.name}"
        )
    if model.model_type not in (pb.MODEL_TYPE_UNSPECIFIED, pb.TENSORFLOW):
        raise invalid_argument(f"ModelServerConfig::model_type choice {model.model_type} not supported.")
    if model.model_platform not in ("", PLATFORM):
        raise invalid_argument(f"Model {model.name} requests unsupported platform {model.model_platform}")


def _policy(policy: pb.ServableVersionPolicy) -> Policy:
    match policy.WhichOneof("policy_choice"):
        case "all":
            return AllVersions()
        case "specific":
            return SpecificVersions(frozenset(policy.specific.versions))
    return LatestVersions(max(policy.latest.num_versions, 1))
