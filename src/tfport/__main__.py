"""The `tfport` command, also as `python -m tfport`: interrupted before it can say so itself, it says so here."""

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
