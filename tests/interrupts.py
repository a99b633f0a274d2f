"""Processes that tests interrupt."""

import signal


def interruptible() -> None:
    """As `preexec_fn`: a process started in the background of a shell ignores interruptions, and so do those
    it starts."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)
