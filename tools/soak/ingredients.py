"""What the soak test mixes: a row for each kind of client, with the models and server flags it needs.

A client is a coroutine function that does one thing to the server, checks the result and raises `Wrong`.
It runs again and again until the time is over. A row is all that a new kind needs.
"""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field

import clients
import half_open
import hostile
import large_bodies
from target import MOST_BYTES, TIMEOUT, Target
from tests.serve.models.exports import adder

Client = Callable[[Target], Awaitable[None]]
BODY_TIME = f"--rest_api_timeout_in_ms={TIMEOUT * 1000}"
HEADER_TIME = f"--header_seconds={half_open.HEADER_SECONDS}"


@dataclass(frozen=True, slots=True)
class Ingredient:
    """One kind of client."""

    client: Client
    parallel: int = 1
    """How many of it run at the same time."""
    pause: float = 0.01
    """Longest pause in seconds between two of its requests."""
    models: Mapping[str, Callable[[], bytes]] = field(default_factory=dict)
    """Models that are served all the time, besides `m`: the name, and what makes its saved_model.pb."""
    flags: tuple[str, ...] = ()
    """Flags of the server."""


INGREDIENTS = (
    Ingredient(clients.rest, 6),
    Ingredient(clients.v2, 3),
    Ingredient(clients.rpc, 6),
    Ingredient(clients.sometimes_there),
    Ingredient(clients.bad_rest, 2),
    Ingredient(clients.too_large, pause=0.1, flags=(f"--rest_api_max_body_bytes={MOST_BYTES}",)),
    Ingredient(clients.bad_rpc),
    Ingredient(clients.leaving, 2),
    Ingredient(clients.cancelling),
    Ingredient(clients.slow, 3, flags=(BODY_TIME,)),
    Ingredient(half_open.half_open_rest, 2, flags=(BODY_TIME, HEADER_TIME)),
    Ingredient(half_open.half_open_grpc, 2, flags=(HEADER_TIME,)),
    Ingredient(hostile.endless, pause=2, models=hostile.ENDLESS_MODELS),
    Ingredient(
        hostile.doubling,
        pause=2,
        models=hostile.DOUBLING_MODELS,
        flags=(f"--max_request_memory_bytes={hostile.MOST_MEMORY}",),
    ),
    Ingredient(large_bodies.large_body, 2, pause=5, models={"maximum": large_bodies.maximum}),
    Ingredient(large_bodies.large_bad_body, pause=30, models={"maximum": large_bodies.maximum}),
    Ingredient(large_bodies.large_compressed_body, pause=10, models={"maximum": large_bodies.maximum}),
)
SOMETIMES = {"extra": lambda: adder(7)}
"""Models that configurations add and remove."""
