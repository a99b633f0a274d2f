"""How models are found, loaded and unloaded; flag names and defaults are TensorFlow Serving's."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from tfport.formats.files import Files
from tfport.startup.dataclass import dataclass

LOADED, ANY, ALL = "loaded", "any", "all"
READY_WHEN = (LOADED, ANY, ALL)
"""When a server is ready: the models that it started with have loaded, and what was available still is; one
model is available; all configured models are."""


@dataclass(frozen=True, slots=True)
class ManagerOptions:
    """Options of a `ModelManager`."""

    poll_seconds: float = 1
    """`--file_system_poll_wait_seconds`: interval of scans for versions; 0 scans once, negative never."""
    config_poll_seconds: float = 0
    """`--model_config_file_poll_wait_seconds`: interval of rereading the configuration; 0 reads it once."""
    load_threads: int = 0
    """`--num_load_threads`: parallel loads once the server is running; 0 means 1."""
    unload_threads: int = 0
    """`--num_unload_threads`"""
    load_retries: int = 5
    """`--max_num_load_retries`: retries for a version that fails to load."""
    retry_seconds: float = 60
    """`--load_retry_interval_micros`, in seconds; negative means no delay."""
    warm_up: bool = True
    """`--enable_model_warmup`"""
    warm_up_iterations: int = 0
    """`--num_request_iterations_for_warmup`; 0 means 1."""
    labels_for_unavailable: bool = False
    """`--allow_version_labels_for_unavailable_models`"""
    always_present: bool = False
    """Keep loaded versions if a base path has none left: `servable_versions_always_present`."""
    drain_seconds: float = 30
    """Seconds that unloading waits for calls in progress; later ones still complete."""
    load_seconds: float = 600
    """`--load_timeout_seconds`: for initializing a version, and for each warm-up request; 0: no limit."""
    all_must_run: bool = True
    """Not with `--serve_runnable_signatures`: whether a signature that cannot run prevents loading."""
    ready_when: str = LOADED
    """`--ready_when`: one of `READY_WHEN`."""
    batch_sizes: Callable[[Files | None], Sequence[int]] = lambda files: ()
    """The sizes of batches that a model on a GPU is run with before it is served."""
