"""Host names in network addresses."""


def bracketed(host: str) -> str:
    """Return a host as written before a port: IPv6 addresses need brackets."""
    return f"[{host}]" if ":" in host else host
