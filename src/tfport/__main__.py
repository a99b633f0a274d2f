"""The `tfport` command, also as `python -m tfport`; it says so if Ctrl-C comes before it is imported."""

import sys

INTERRUPTED = 130


def start() -> int:
    """Import the command and run it; the imports take longer than to press Ctrl-C."""
    try:
        from tfport.cli.main import main
    except KeyboardInterrupt:
        print("tfport: interrupted", file=sys.stderr)
        return INTERRUPTED
    return main()


if __name__ == "__main__":
    raise SystemExit(start())
