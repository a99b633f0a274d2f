"""Clients of hostile models: one that never ends, and one whose tensor doubles until memory is used up."""

import random
from collections.abc import Callable
from functools import partial

import grpc.aio
from target import Target, Wrong, wrong_code
from tests.hostile_models import DOUBLING, ENDLESS
from tests.serve.models.exports import saved_model
from tests.serve.process import PREDICT, predict_request

MOST_MEMORY = 2**24
"""The server's limit for the tensors of a request."""
SOON = 0.2
"""The deadline of a call that never ends, in seconds."""


def models_of(kind: str, graphs: dict[str, str]) -> dict[str, Callable[[], bytes]]:
    """Return a model for each way to write a loop."""
    return {
        f"{kind}_{number}": partial(saved_model, text, {"serving_default": "y:0"})
        for number, text in enumerate(graphs.values())
    }


ENDLESS_MODELS, DOUBLING_MODELS = models_of("endless", ENDLESS), models_of("doubling", DOUBLING)


async def endless(target: Target) -> None:
    """Call a model that never ends, with a deadline."""
    await _fails(target, random.choice(list(ENDLESS_MODELS)), "DEADLINE_EXCEEDED", SOON)


async def doubling(target: Target) -> None:
    """Call a model that needs more memory than it may use."""
    await _fails(target, random.choice(list(DOUBLING_MODELS)), "RESOURCE_EXHAUSTED", 60)


async def _fails(target: Target, model: str, wanted: str, timeout: float) -> None:
    data = predict_request(1, name=model).SerializeToString()
    try:
        await target.channel.unary_unary(PREDICT)(data, timeout=timeout)
    except grpc.aio.AioRpcError as error:
        if error.code().name != wanted:
            raise wrong_code(error.code().name, f"of {model}: {error.details()}") from None
        return
    raise Wrong(f"{model}: answered")
