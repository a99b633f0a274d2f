"""TensorFlow Serving's ModelServerConfig as plain settings.

    config = read_config("models.config")            a text proto in a file
    settings_of(config)                              [ModelSettings("half_plus_two", "/models/half"), …]

Invalid configurations are rejected as in TensorFlow Serving. `labels` checks the versions that labels
point to, `store` lists the versions that exist.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping

from tfport.errors import UnreadableFile
from tfport.formats.files import reason
from tfport.formats.proto import model_server_config_pb2 as pb
from tfport.formats.remote import is_address
from tfport.serve.models.policy import AllVersions, LatestVersions, Policy, SpecificVersions
from tfport.serve.status import invalid_argument
from tfport.startup.dataclass import dataclass, field

PLATFORM = "tensorflow"
_POSITION = re.compile(r"^\d+:\d+ : ")


@dataclass(frozen=True, slots=True)
class ModelSettings:
    """One model to serve."""

    name: str
    base_path: str
    """The folder of its versions, local or in an object store."""
    policy: Policy = field(default_factory=LatestVersions)
    labels: Mapping[str, int] = field(default_factory=dict)
    logging: pb.LoggingConfig | None = None
    """Which requests to log, and where."""
    max_concurrent_runs: int = 0
    """How many runs of a version may be in progress; 0 means the server's limit."""
    gpu_memory_bytes: int = 0
    """How much memory of each GPU a version may use; 0 means what the server may use."""


def one_model(name: str, base_path: str) -> pb.ModelServerConfig:
    """Return the configuration for `--model_name` and `--model_base_path`."""
    path = base_path if is_address(base_path) else os.path.abspath(base_path)
    config = pb.ModelServerConfig()
    config.model_config_list.config.add(name=name, base_path=path, model_platform=PLATFORM)
    return config


def read_config(path: str) -> pb.ModelServerConfig:
    """Read a configuration file."""
    try:
        with open(path, encoding="utf-8") as file:
            return parse_config(file.read(), path)
    except OSError as error:
        raise UnreadableFile(f"{path}: {reason(error)}") from None
    except UnicodeDecodeError as error:
        raise UnreadableFile(f"{path}, byte {error.start}: expected UTF-8 text, found other bytes") from None


def parse_config(text: str, where: str) -> pb.ModelServerConfig:
    """Parse a configuration; an unknown field is an error that names its line."""
    from google.protobuf import text_format  # here, as few servers have such a file

    try:
        return text_format.Parse(text, pb.ModelServerConfig())
    except text_format.ParseError as error:
        message = _POSITION.sub("", str(error)).replace(f"{pb.DESCRIPTOR.package}.", "")
        line = f", line {error.GetLine()}" if error.GetLine() else ""
        raise UnreadableFile(
            f"{where}{line}: Error parsing text-format tensorflow.serving.ModelServerConfig: {message}"
        ) from None


def settings_of(config: pb.ModelServerConfig) -> list[ModelSettings]:
    """Return the models of a configuration; raise if it is invalid."""
    if config.WhichOneof("config") == "custom_model_config":
        raise invalid_argument("custom_model_config is not supported, only model_config_list")
    models: dict[str, ModelSettings] = {}
    for model in config.model_config_list.config:
        if model.name in models:
            raise invalid_argument(f"Illegal to list model {model.name} multiple times in config list")
        models[model.name] = _settings(model)
    return list(models.values())


def _settings(model: pb.ModelConfig) -> ModelSettings:
    if not model.name:
        raise invalid_argument(f"the model at base_path `{model.base_path}` has no name")
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
        model.max_concurrent_runs,
        model.gpu_memory_bytes,
    )


def _known_platform(model: pb.ModelConfig) -> None:
    """Reject other platforms; a missing one, which TensorFlow Serving rejects, means TensorFlow."""
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
