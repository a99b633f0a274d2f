"""Answers that are errors: an HTTP status and one sentence."""

from __future__ import annotations

from tfport.errors import Error


class RefusedRequest(Error):
    """A request that is answered with an error."""

    def __init__(self, status: int, sentence: str) -> None:
        super().__init__(sentence)
        self.status = status


def bad_request(sentence: str) -> RefusedRequest:
    return RefusedRequest(400, sentence)


def forbidden(sentence: str) -> RefusedRequest:
    return RefusedRequest(403, sentence)


def unknown(sentence: str) -> RefusedRequest:
    return RefusedRequest(404, sentence)
