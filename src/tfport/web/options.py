"""What `tfport ui` is started with."""

from __future__ import annotations

import ipaddress
import secrets

from tfport.errors import Error
from tfport.startup.dataclass import dataclass, field

LOOPBACK = "127.0.0.1"
MOST_UPLOAD = 4 << 30
UNITS = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30, "T": 1 << 40}


@dataclass(frozen=True)
class UiOptions:
    """Address, token and limits of the server."""

    models: tuple[str, ...] = ()
    host: str = LOOPBACK
    port: int = 0
    allow: tuple[str, ...] = ()
    """Folders whose models may be opened, besides `models`."""
    allow_hosts: tuple[str, ...] = ()
    """Names that a browser may call the server by, besides those of this machine."""
    token: str = field(default_factory=lambda: secrets.token_urlsafe(24))
    most_upload: int = MOST_UPLOAD
    """The most bytes of all uploads together."""
    most_open: int = 8
    """The most models in memory."""
    most_jobs: int = 2
    """The most jobs that run at the same time."""
    remember: bool = True
    """Whether to keep a list of recent models."""


def is_loopback(host: str) -> bool:
    """Whether only programs on this machine reach a host."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def token_of(path: str) -> str:
    """The token in a file: its first line."""
    try:
        with open(path, encoding="utf-8") as file:
            token = file.readline(4096).strip()
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or "not a text file"
        raise Error(f"{path}: cannot read the token: {reason}") from None
    if len(token) < 16 or not token.isascii() or not token.replace("-", "").replace("_", "").isalnum():
        raise Error(
            f"{path}: expected a token of at least 16 letters, digits, - and _ in the first line; "
            'make one with `python -c "import secrets; print(secrets.token_urlsafe(24))"`'
        )
    return token


def size_of(text: str) -> int:
    """A number of bytes: `500M`, `4G`, `1048576`."""
    number = text.strip().upper().removesuffix("B").removesuffix("I")
    unit = number[-1:] if number[-1:] in UNITS else ""
    digits = number.removesuffix(unit) if unit else number
    if not (digits.isascii() and digits.isdecimal() and len(digits) < 16):
        raise Error(f"--max-upload {text}: expected a size such as 500M or 4G")
    return int(digits) * UNITS[unit]
