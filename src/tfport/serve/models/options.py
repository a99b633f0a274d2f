"""How models are looked for, loaded and let go; names of flags and defaults are TensorFlow Serving's."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class ManagerOptions:
    """What a `ModelManager` may be told beside the models."""

    poll_seconds: float = 1
    """`--file_system_poll_wait_seconds`: how often to look for versions; 0 once, negative not at all."""
    config_poll_seconds: float = 0
    """`--model_config_file_poll_wait_seconds`: how often to read the configuration; 0 once."""
    load_threads: int = 0
    """`--num_load_threads`: loads at the same time once the server runs; 0 is one after the other."""
    unload_threads: int = 0
    """`--num_unload_threads`"""
    load_retries: int = 5
    """`--max_num_load_retries`: how often to try again what did not load."""
    retry_seconds: float = 60
    """`--load_retry_interval_micros`, in seconds; negative does not wait."""
    warm_up: bool = True
    """`--enable_model_warmup`"""
    warm_up_iterations: int = 0
    """`--num_request_iterations_for_warmup`; counts where it is above 0."""
    labels_for_unavailable: bool = False
    """`--allow_version_labels_for_unavailable_models`"""
    always_present: bool = False
    """Keep what is loaded when a base path has no version left: `servable_versions_always_present`."""
    drain_seconds: float = 30
    """How long unloading waits for calls that have begun; they end well even if that is too short."""
