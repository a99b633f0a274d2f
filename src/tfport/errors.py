"""The exceptions of tfport. Each message is one sentence: where, what was expected, what was found."""

from typing import Any


class Error(Exception):
    """Base class of all errors that a caller or a file can cause."""


class UnreadableFile(Error):
    """A file is missing, malformed, truncated or of another format than expected."""


class NotAModel(UnreadableFile):
    """The file is intact but not a TensorFlow model. The message says what it is."""


class MalformedGraph(Error):
    """The file parses, but its nodes do not form a valid graph."""


class MissingTensor(Error):
    """A checkpoint has no tensor of this name."""


class CannotRun(Error):
    """tfport's runtime does not support something that the model needs."""

    ops: tuple[str, ...] = ()
    """The ops of the nodes that cannot run, as far as they are known."""


class RunFailed(Error):
    """The inputs do not fit the model, or an op reported an error, as it would in TensorFlow."""


class ResourceExhausted(RunFailed):
    """A run needs more memory or more loop iterations than it may use."""


class RunStopped(Error):
    """A run was told to end before it was complete."""


class DeadlineExceeded(RunStopped):
    """A run took longer than it may."""


class RunCancelled(RunStopped):
    """Nobody waits for the result of a run any more."""


class InternalError(Error):
    """A bug in tfport itself, not in the model or its inputs. The message names the node."""


class BadRegistration(Error):
    """The declaration of a custom op or kernel is invalid."""


class BadLibrary(Error):
    """A custom-op library cannot be loaded: it is damaged, or was built for something else."""


class BuildFailed(Error):
    """A custom-op library could not be built: no compiler, no headers, or an error in the source."""


class MissingPackage(Error):
    """A package of an extra is not installed. The message says which, and the command that installs it."""

    def __init__(self, message: str, extra: str = "") -> None:
        super().__init__(message)
        self.extra = extra
        """The extra of tfport that brings it, such as `run`."""

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (str(self), self.extra)
