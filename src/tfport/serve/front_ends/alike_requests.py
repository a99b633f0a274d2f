"""Read Predict requests that may be sent together: those that differ in the contents of tensors only.

    requests = AlikeRequests()
    request = requests.read(data, caller)          None if it cannot be part of a group

A client sends many requests of one form: the same bytes but for the large contents, at the same places. Such
a request is compared with the last one of its length, and not parsed again.
"""

from __future__ import annotations

import asyncio
from itertools import pairwise
from math import prod

from tfport.formats.encoding.tensor import NUMPY
from tfport.serve.front_ends.detached_contents import LARGE, without_contents
from tfport.serve.front_ends.messages import CallAnswer
from tfport.serve.grpc.service import Caller
from tfport.startup.dataclass import dataclass, field

TRACED = ("traceparent", "b3")
"""Headers that make a request one of a trace."""
MAX_FORMS = 100
"""Lengths of requests that are remembered; clients choose them freely."""
MAX_REST = LARGE
"""Bytes of a form besides large contents, at most."""


@dataclass(eq=False, slots=True)
class AlikeRequest:
    """A request whose contents are apart from its message."""

    kind: bytes
    """The message without contents."""
    contents: dict[str, memoryview]
    rows: int
    caller: Caller
    data: bytes
    answer: asyncio.Future[CallAnswer] = field(
        default_factory=lambda: asyncio.get_running_loop().create_future()
    )


@dataclass(slots=True)
class _RequestForm:
    """What requests have in common: all bytes besides their large contents, and what these bytes say."""

    kind: bytes
    rows: int
    large: dict[str, slice]
    small: dict[str, memoryview]
    rest: list[tuple[slice, bytes]]

    def fits(self, data: bytes) -> bool:
        """Whether a request of the same length has this form."""
        return all(data[place] == part for place, part in self.rest)

    def request(self, data: bytes, caller: Caller) -> AlikeRequest:
        view = memoryview(data)
        contents = {name: view[place] for name, place in self.large.items()}
        return AlikeRequest(self.kind, self.small | contents, self.rows, caller, data)


class AlikeRequests:
    """The forms of requests that a front end has seen."""

    def __init__(self) -> None:
        self._forms: dict[int, _RequestForm] = {}
        """By the length of the requests."""

    def read(self, data: bytes, caller: Caller) -> AlikeRequest | None:
        """The request of a Predict message; None if it cannot be part of a group."""
        if len(data) < LARGE or any(header in caller.headers for header in TRACED):
            return None
        form = self._forms.get(len(data))
        if form is None or not form.fits(data):
            form = _form_of(data)
            if form is None:
                return None
            self._remember(len(data), form)
        return form.request(data, caller)

    def _remember(self, length: int, form: _RequestForm) -> None:
        if sum(len(part) for _, part in form.rest) > MAX_REST:
            return
        if len(self._forms) >= MAX_FORMS:
            self._forms.clear()
        self._forms[length] = form


def _form_of(data: bytes) -> _RequestForm | None:
    taken = without_contents(data)
    if taken is None:
        return None
    message, large = taken
    small: dict[str, memoryview] = {}
    rows = set()
    for name, tensor in message.inputs.items():
        shape = [dim.size for dim in tensor.tensor_shape.dim]
        rows.add(shape[0] if shape else 0)
        if name in large:
            size = large[name].stop - large[name].start
        else:
            small[name] = memoryview(tensor.tensor_content)
            size = len(small[name])
            tensor.ClearField("tensor_content")
        kind = NUMPY.get(tensor.dtype)
        if kind is None or kind.hasobject or size != prod(shape) * kind.itemsize:
            return None
    count = rows.pop() if len(rows) == 1 else 0
    if count < 1:
        return None
    ends = sorted([0, len(data), *(edge for place in large.values() for edge in (place.start, place.stop))])
    places = [slice(a, b) for a, b in list(pairwise(ends))[::2]]
    rest = [(place, data[place]) for place in places]
    return _RequestForm(message.SerializeToString(deterministic=True), count, large, small, rest)
