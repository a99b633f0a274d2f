"""The flags of `tensorflow_model_server`, what each is here, and those that only tfport has.

A flag is honoured, or has no meaning here: then it is accepted, and why it does nothing is said once.
Names, types and defaults are those of TensorFlow Serving's `main.cc`; `--port=8500`, `--port 8500`,
`--enable_batching` and `--enable_batching=false` all do, and a dash may stand for an underscore.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

TRUE, FALSE = ("true", "t", "1", "yes"), ("false", "f", "0", "no")
NO_TENSORFLOW = "there is no TensorFlow session here"
NO_TFLITE = "TensorFlow Lite models are not served"
NO_ACCELERATOR = "models run on the CPU"


@dataclass(frozen=True, slots=True)
class Flag:
    """One flag; `ignored` says why it does nothing."""

    name: str
    kind: type
    default: object
    says: str = ""
    ignored: str = ""
    choices: tuple[str, ...] = ()


def _honoured(name: str, kind: type, default: object, says: str, choices: tuple[str, ...] = ()) -> Flag:
    return Flag(name, kind, default, says, choices=choices)


def _ignored(names: str, kind: type, why: str) -> Iterator[Flag]:
    return (Flag(name, kind, None, ignored=why) for name in names.split())


FLAGS = (
    _honoured("port", int, 8500, "port for gRPC; 0 for none, -1 for any that is free"),
    _honoured("grpc_socket_path", str, "", "a UNIX socket for gRPC, beside the port"),
    _honoured("rest_api_port", int, 8501, "port for REST; 0 for none, -1 for any that is free"),
    _honoured("rest_api_timeout_in_ms", int, 30_000, "time limit of a REST call"),
    _honoured("rest_api_enable_cors_support", bool, False, "answer to pages of any origin"),
    _honoured("enable_batching", bool, False, "run requests together"),
    _honoured("batching_parameters_file", str, "", "text proto BatchingParameters"),
    _honoured("enable_per_model_batching_parameters", bool, False,
              "take batching_params.pbtxt of each model"),
    _honoured("allow_version_labels_for_unavailable_models", bool, False,
              "labels may name versions that are not loaded yet"),
    _honoured("model_config_file", str, "", "text proto ModelServerConfig"),
    _honoured("model_config_file_poll_wait_seconds", int, 0, "seconds between reading it again; 0 for never"),
    _honoured("model_name", str, "default", "name of the model at --model_base_path"),
    _honoured("model_base_path", str, "", "folder of numbered versions, or one SavedModel; or a URL"),
    _honoured("num_load_threads", int, 0, "versions loaded at the same time once the server runs; 0 is one"),
    _honoured("num_unload_threads", int, 0, "versions let go at the same time; 0 is one"),
    _honoured("max_num_load_retries", int, 5, "how often a version that does not load is tried again"),
    _honoured("load_retry_interval_micros", int, 60_000_000, "time between tries"),
    _honoured("file_system_poll_wait_seconds", int, 1,
              "seconds between looks for versions; 0 once, -1 never"),
    _honoured("tensorflow_intra_op_parallelism", int, 0, "threads within a call; all cores unless said"),
    _honoured("tensorflow_session_parallelism", int, 0, "threads within a call and calls at a time"),
    _honoured("tensorflow_inter_op_parallelism", int, 0, "calls at a time; as many as cores unless said"),
    _honoured("ssl_config_file", str, "", "text proto SSLConfig, for gRPC and REST"),
    _honoured("saved_model_tags", str, "serve", "tags of the MetaGraph, with commas between"),
    _honoured("grpc_channel_arguments", str, "", "key=value, with commas between"),
    _honoured("enable_model_warmup", bool, True, "replay assets.extra/tf_serving_warmup_requests"),
    _honoured("num_request_iterations_for_warmup", int, 0, "how often each of these requests"),
    _honoured("monitoring_config_file", str, "", "text proto MonitoringConfig: Prometheus and its path"),
    _honoured("enable_signature_method_name_check", bool, False,
              "classify and regress only signatures that say so"),
    _honoured("enable_grpc_healthcheck_service", bool, True, "the standard health service"),
    _honoured("enable_serialization_as_tensor_content", bool, False, "answer in tensor_content"),
    _honoured("version", bool, False, "print the version and end"),
    *_ignored("rest_api_num_threads grpc_max_threads", int, "one event loop takes all connections"),
    *_ignored("flush_filesystem_caches", bool, "what was read is mapped, and the system's to let go"),
    *_ignored("tensorflow_session_config_file platform_config_file thread_pool_factory_config_file", str,
              NO_TENSORFLOW),
    *_ignored("use_alts_credentials", bool, "ALTS is Google's own; use --ssl_config_file"),
    *_ignored("per_process_gpu_memory_fraction", float, NO_ACCELERATOR),
    *_ignored("mixed_precision", str, NO_ACCELERATOR),
    *_ignored("skip_initialize_tpu xla_cpu_compilation_enabled xla_gpu_compilation_enabled", bool,
              NO_ACCELERATOR),
    *_ignored("remove_unused_fields_from_bundle_metagraph enable_profiler", bool, NO_TENSORFLOW),
    *_ignored("prefer_tflite_model", bool, NO_TFLITE),
    *_ignored("num_tflite_pools num_tflite_interpreters_per_pool", int, NO_TFLITE),
)  # fmt: skip
OURS = (
    _honoured("host", str, "127.0.0.1", "address to listen at; 0.0.0.0 for all of this machine"),
    _honoured("rest_api_max_body_bytes", int, 1 << 28, "largest body of a REST call"),
    _honoured("auth_token_file", str, "", "file with the bearer token that callers must give"),
    _honoured("library", str, "", "libraries of ops that `tfport lib build` made, with commas between"),
    _honoured("engine", str, "onnxruntime", "onnxruntime, openvino or none",
              ("onnxruntime", "openvino", "none")),
    _honoured("log_format", str, "text", "text or json", ("text", "json")),
    _honoured("log_level", str, "info", "debug, info, warning or error",
              ("debug", "info", "warning", "error")),
    _honoured("enable_tracing", bool, False, "spans for OpenTelemetry, where it is installed"),
    _honoured("drain_seconds", int, 30, "how long calls may go on after SIGTERM"),
)  # fmt: skip


def add_flags(parser: argparse.ArgumentParser) -> None:
    """All of them; what was not given is None, so that it can be told from a default."""
    for title, flags in (("flags of tensorflow_model_server", FLAGS), ("flags of tfport", OURS)):
        group = parser.add_argument_group(title)
        for flag in flags:
            _add(group, flag)


def _add(group: argparse._ArgumentGroup, flag: Flag) -> None:
    names = dict.fromkeys((f"--{flag.name}", f"--{flag.name.replace('_', '-')}"))
    says = f"{flag.says} (default {_shown(flag.default)})" if flag.says else f"does nothing: {flag.ignored}"
    how: dict[str, object] = (
        {"nargs": "?", "const": True, "type": _truth_or_word} if flag.kind is bool else {}
    )
    how.setdefault("type", flag.kind)
    if flag.choices:
        how["choices"] = flag.choices
    metavar = {bool: "BOOL", int: "N", float: "X", str: "TEXT"}[flag.kind]
    group.add_argument(*names, dest=flag.name, default=None, metavar=metavar, help=says, **how)  # type: ignore[arg-type]


def _shown(default: object) -> str:
    if isinstance(default, bool):
        return str(default).lower()
    return "none" if default == "" else str(default)


def _truth_or_word(text: str) -> bool | str:
    """true and false as TensorFlow's flags take them; another word may be the model behind the flag."""
    low = text.lower()
    return low in TRUE if low in TRUE + FALSE else text


def words_after_booleans(args: argparse.Namespace) -> Iterator[str]:
    """Words that came behind a flag of true or false and are neither; the flag counts as true."""
    for flag in (*FLAGS, *OURS):
        word = getattr(args, flag.name, None)
        if flag.kind is bool and isinstance(word, str):
            setattr(args, flag.name, True)
            yield word


class FlagValues:
    """Every flag that means something, as given or at its default."""

    def __init__(self, args: argparse.Namespace | None = None, **overrides: object) -> None:
        defaults = {flag.name: flag.default for flag in (*FLAGS, *OURS) if not flag.ignored}
        values = {**vars(args or argparse.Namespace()), **overrides}
        self._values = {
            name: default if values.get(name) is None else values[name] for name, default in defaults.items()
        }

    def text(self, name: str) -> str:
        return str(self._values[name])

    def number(self, name: str) -> int:
        return int(str(self._values[name]))

    def boolean(self, name: str) -> bool:
        return bool(self._values[name])


def ignored_flag_warnings(args: argparse.Namespace) -> Iterable[str]:
    """A sentence for each flag that was given and does nothing."""
    for flag in FLAGS:
        if flag.ignored and getattr(args, flag.name, None) is not None:
            yield f"--{flag.name} does nothing: {flag.ignored}"
