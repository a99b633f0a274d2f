"""Names of hosts as addresses have them."""


def bracketed(host: str) -> str:
    """A host before a port: an address of IPv6 needs brackets."""
    return f"[{host}]" if ":" in host else host
