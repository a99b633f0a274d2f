"""Who may ask: those with the token, in a header or as the cookie that was given for it.

The page exchanges the token of the first address for a cookie, so that an address that is copied holds no
secret and works in every tab of the browser. Scripts cannot read the cookie, and other sites cannot send it.
Its name and value belong to this token: two servers on one machine, whose cookies a browser mixes up
because cookies have no port, do not see each other's token. Pages of other ports of this machine are of the
same site, and send it: what the browser says about the origin of a request tells them apart.
"""

from __future__ import annotations

import hashlib
import hmac

from aiohttp import web

PREFIX = "tfport-"
READING = ("GET", "HEAD")
FROM_HERE = ("same-origin", "none")


class ServerToken:
    """The token of a server, and its cookie."""

    def __init__(self, token: str) -> None:
        self._token = token.encode()
        self.cookie_name = PREFIX + self._digest(b"name")[:12]
        self.cookie_value = self._digest(b"value")

    def _digest(self, what: bytes) -> str:
        return hmac.new(self._token, what, hashlib.sha256).hexdigest()

    def admits(self, request: web.Request) -> bool:
        """Whether a request has the token, or the cookie and comes from this server's own page."""
        scheme, _, token = request.headers.get("Authorization", "").partition(" ")
        if scheme:
            is_right = hmac.compare_digest(token.strip().encode("utf-8", "replace"), self._token)
            return scheme.lower() == "bearer" and is_right
        cookie = request.cookies.get(self.cookie_name, "").encode("utf-8", "replace")
        return hmac.compare_digest(cookie, self.cookie_value.encode()) and _is_from_here(request)


def _is_from_here(request: web.Request) -> bool:
    """Whether the browser says that a page of this very server, or the user, made the request."""
    site, origin = request.headers.get("Sec-Fetch-Site"), request.headers.get("Origin")
    if site is None and origin is None:
        return request.method in READING  # what an old browser reads for another page, it does not show to it
    if site is not None and site not in FROM_HERE:
        return False
    return origin is None or origin.partition("://")[2].lower() == request.headers.get("Host", "").lower()
