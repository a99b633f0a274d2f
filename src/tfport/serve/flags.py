"""The flags of `tensorflow_model_server` and those that only tfport has.

Names, types and defaults are those of TensorFlow Serving's `main.cc`. A flag that has no meaning here
is accepted with a warning that says why it is ignored. `--port=8500`, `--port 8500`,
`--enable_batching` and `--enable_batching=false` are all valid, and dashes may replace underscores.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Iterator

from tfport.engine_names import ENGINES, USUAL, listed_engines
from tfport.serve.models.options import LOADED, READY_WHEN
from tfport.startup.dataclass import dataclass

TRUE, FALSE = ("true", "t", "1", "yes"), ("false", "f", "0", "no")
NO_TENSORFLOW = "tfport does not use a TensorFlow session"
NO_INTERPRETERS = "a TensorFlow Lite model runs like any other"
NO_ACCELERATOR = "tfport neither compiles with XLA nor uses TPUs; see --device and --precision"
PRECISIONS = ("tf32", "float32", "float16", "bfloat16")


@dataclass(frozen=True, slots=True)
class Flag:
    """One flag; `ignored` is the reason why it has no effect."""

    name: str
    kind: type
    default: object
    help: str = ""
    ignored: str = ""
    choices: tuple[str, ...] = ()


def _supported(name: str, kind: type, default: object, help: str, choices: tuple[str, ...] = ()) -> Flag:
    return Flag(name, kind, default, help, choices=choices)


def _ignored(names: str, kind: type, reason: str) -> Iterator[Flag]:
    return (Flag(name, kind, None, ignored=reason) for name in names.split())


FLAGS = (
    _supported("port", int, 8500, "gRPC port; 0 disables it, -1 picks a free port"),
    _supported("grpc_socket_path", str, "", "UNIX socket for gRPC, in addition to the port"),
    _supported("rest_api_port", int, 8501, "REST port; 0 disables it, -1 picks a free port"),
    _supported("rest_api_timeout_in_ms", int, 30_000, "timeout of a REST call in milliseconds"),
    _supported("rest_api_enable_cors_support", bool, False, "send CORS headers that allow any origin"),
    _supported("enable_batching", bool, False, "combine requests into batches"),
    _supported("batching_parameters_file", str, "", "file with a BatchingParameters text proto"),
    _supported("enable_per_model_batching_parameters", bool, False,
               "read batching_params.pbtxt in each model's folder"),
    _supported("allow_version_labels_for_unavailable_models", bool, False,
               "allow labels for versions that are not loaded yet"),
    _supported("prefer_tflite_model", bool, False,
               "of a version with a SavedModel and a model.tflite, serve the latter"),
    _supported("model_config_file", str, "", "file with a ModelServerConfig text proto"),
    _supported("model_config_file_poll_wait_seconds", int, 0,
               "seconds between reloads of the model config file; 0 disables reloading"),
    _supported("model_name", str, "default", "name of the model at --model_base_path"),
    _supported("model_base_path", str, "", "folder of numbered versions, or one model; a path or a URL"),
    _supported("num_load_threads", int, 0,
               "versions to load in parallel once the server is running; 0 means 1"),
    _supported("num_unload_threads", int, 0, "versions to unload in parallel; 0 means 1"),
    _supported("max_num_load_retries", int, 5, "retries for a version that fails to load"),
    _supported("load_retry_interval_micros", int, 60_000_000, "microseconds between retries"),
    _supported("file_system_poll_wait_seconds", int, 1,
               "seconds between scans for new versions; 0 scans once, -1 never"),
    _supported("tensorflow_intra_op_parallelism", int, 0, "threads per call; 0 means all cores"),
    _supported("tensorflow_session_parallelism", int, 0, "threads per call and number of parallel calls"),
    _supported("tensorflow_inter_op_parallelism", int, 0, "number of parallel calls; 0 means one per core"),
    _supported("ssl_config_file", str, "", "file with an SSLConfig text proto, for gRPC and REST"),
    _supported("saved_model_tags", str, "serve", "comma-separated tags of the MetaGraph to load"),
    _supported("grpc_channel_arguments", str, "", "comma-separated key=value pairs"),
    _supported("enable_model_warmup", bool, True, "replay assets.extra/tf_serving_warmup_requests"),
    _supported("num_request_iterations_for_warmup", int, 0, "how often to replay each warm-up request"),
    _supported("monitoring_config_file", str, "",
               "file with a MonitoringConfig text proto: Prometheus metrics and their path"),
    _supported("enable_signature_method_name_check", bool, False,
               "allow classify and regress only for signatures with that method name"),
    _supported("enable_grpc_healthcheck_service", bool, True, "run the standard gRPC health service"),
    _supported("enable_serialization_as_tensor_content", bool, False, "return tensors as tensor_content"),
    _supported("version", bool, False, "print the version and exit"),
    *_ignored("rest_api_num_threads grpc_max_threads", int, "one event loop handles all connections"),
    *_ignored("flush_filesystem_caches", bool, "the system manages the cache of model files"),
    *_ignored("platform_config_file thread_pool_factory_config_file", str, NO_TENSORFLOW),
    *_ignored("use_alts_credentials", bool, "ALTS works only at Google; use --ssl_config_file"),
    _supported("per_process_gpu_memory_fraction", float, 0.0,
               "fraction of a GPU's memory that all models together may use; 0 means no limit"),
    _supported("tensorflow_session_config_file", str, "",
               "file with a ConfigProto text proto: its GPU options and numbers of threads are used"),
    *_ignored("mixed_precision", str, NO_ACCELERATOR),
    *_ignored("skip_initialize_tpu xla_cpu_compilation_enabled xla_gpu_compilation_enabled", bool,
              NO_ACCELERATOR),
    *_ignored("remove_unused_fields_from_bundle_metagraph enable_profiler", bool, NO_TENSORFLOW),
    *_ignored("num_tflite_pools num_tflite_interpreters_per_pool", int, NO_INTERPRETERS),
)  # fmt: skip
OURS = (
    _supported("host", str, "127.0.0.1", "address to listen on; 0.0.0.0 for all interfaces"),
    _supported("rest_api_max_body_bytes", int, 1 << 27, "maximum size of a REST request body in bytes"),
    _supported("rest_api_body_processes", int, 2,
               "processes that read large REST bodies; 0 reads them in the server"),
    _supported("grpc_processes", int, 0,
               "processes that read gRPC requests and share the port; 0 reads them in the server"),
    _supported("max_connections", int, 0,
               "maximum open connections of each port; 0 derives it from the limit of open files"),
    _supported("header_seconds", int, 10,
               "seconds that a client may take for a request header, or for a TLS or HTTP/2 handshake"),
    _supported("health_port", int, 0,
               "plain HTTP port for health checks and metrics only; 0 disables it, -1 picks a free port"),
    _supported("model_config_reload_roots", str, "",
               "comma-separated folders or URLs that may contain the paths of HandleReloadConfigRequest; by "
               "default those that contain the base paths the server started with"),
    _supported("auth_token_file", str, "",
               "file with the bearer tokens that clients must send, one per line"),
    _supported("library", str, "", "comma-separated custom-op libraries built with `tfport lib build`"),
    _supported("ops", str, "", "comma-separated Python files that declare custom ops; they are executed"),
    _supported("engine", str, USUAL,
               f"inference engine: {listed_engines()}", ENGINES),
    _supported("cache", bool, False,
               "cache prepared models, so that the next start is faster"),
    _supported("device", str, "cpu",
               "where models compute: cpu, cuda, cuda:N, tensorrt, auto, or cuda:0,cuda:1 for replicas"),
    _supported("precision", str, "tf32", "on a GPU: tf32, float32, float16 or bfloat16", PRECISIONS),
    _supported("require_gpu", bool, False, "fail to start if the GPU cannot be used"),
    _supported("log_format", str, "text", "log format: text or json", ("text", "json")),
    _supported("log_level", str, "info", "lowest level to log: debug, info, warning or error",
               ("debug", "info", "warning", "error")),
    _supported("enable_tracing", bool, False, "send OpenTelemetry spans (needs OpenTelemetry)"),
    _supported("serve_runnable_signatures", bool, False,
               "serve a model if some of its signatures can run; by default all of them must"),
    _supported("max_concurrent_runs", int, 0,
               "how many runs of one version may be in progress; 0 means as many as there are parallel "
               "calls"),
    _supported("max_run_seconds", int, 0, "seconds that a request may take to compute; 0 means no limit"),
    _supported("max_request_memory_bytes", int, 0,
               "memory for the tensors that a request computes; 0 means no limit"),
    _supported("max_loop_iterations", int, 0, "iterations of each loop in a model; 0 means no limit"),
    _supported("load_timeout_seconds", int, 600,
               "seconds for initializing a version, and for each warm-up request; 0 means no limit"),
    _supported("ready_when", str, LOADED,
               "models that must be available for the server to be ready: loaded (those it started with or "
               "loaded later), any or all", READY_WHEN),
    _supported("drain_seconds", int, 30, "seconds that calls in progress may take after SIGTERM"),
)  # fmt: skip


def add_flags(parser: argparse.ArgumentParser) -> None:
    """Add every flag; one that was not passed is None, to distinguish it from its default."""
    for title, flags in (("tensorflow_model_server's flags", FLAGS), ("tfport's own flags", OURS)):
        group = parser.add_argument_group(title)
        for flag in flags:
            _add(group, flag)


def _add(group: argparse._ArgumentGroup, flag: Flag) -> None:
    help = f"{flag.help} (default: {_shown(flag.default)})" if flag.help else f"ignored: {flag.ignored}"
    options: dict[str, object] = (
        {"nargs": "?", "const": True, "type": _boolean_or_word} if flag.kind is bool else {}
    )
    options.setdefault("type", flag.kind)
    if flag.choices:
        options["choices"] = flag.choices
    options["metavar"] = {bool: "BOOL", int: "N", float: "X", str: "TEXT"}[flag.kind]
    group.add_argument(f"--{flag.name}", dest=flag.name, default=None, help=help, **options)  # type: ignore[arg-type]
    if "_" in flag.name:  # the spelling with dashes is accepted, but not listed
        alias = f"--{flag.name.replace('_', '-')}"
        group.add_argument(alias, dest=flag.name, default=None, help=argparse.SUPPRESS, **options)  # type: ignore[arg-type]


def _shown(default: object) -> str:
    if isinstance(default, bool):
        return str(default).lower()
    return "none" if default == "" else str(default)


def _boolean_or_word(text: str) -> bool | str:
    """Parse true and false like TensorFlow's flags; any other word may be the model that follows."""
    low = text.lower()
    return low in TRUE if low in TRUE + FALSE else text


def words_after_booleans(args: argparse.Namespace) -> Iterator[str]:
    """Yield words that followed a boolean flag and are not boolean; sets these flags to true."""
    for flag in (*FLAGS, *OURS):
        word = getattr(args, flag.name, None)
        if flag.kind is bool and isinstance(word, str):
            setattr(args, flag.name, True)
            yield word


class FlagValues:
    """The value or default of every supported flag."""

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

    def fraction(self, name: str) -> float:
        return float(str(self._values[name]))

    def boolean(self, name: str) -> bool:
        return bool(self._values[name])


def ignored_flag_warnings(args: argparse.Namespace) -> Iterable[str]:
    """Yield a warning for each flag that was passed and is ignored."""
    for flag in FLAGS:
        if flag.ignored and getattr(args, flag.name, None) is not None:
            yield f"--{flag.name} is ignored: {flag.ignored}"
