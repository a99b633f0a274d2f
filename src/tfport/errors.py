"""What tfport raises: each error is one sentence saying where, what was expected and what was found."""


class Error(Exception):
    """Anything a caller or a file can cause. Catch this one to catch them all."""


class UnreadableFile(Error):
    """A file is missing, malformed, truncated, or not what its place says it is."""


class NotAModel(UnreadableFile):
    """The bytes are fine, but they are no TensorFlow model; the sentence says what they are."""


class MalformedGraph(Error):
    """The bytes parse, but the nodes do not make a graph."""


class MissingTensor(Error):
    """A checkpoint has no tensor of that name."""


class CannotRun(Error):
    """tfport's runtime has no kernel for something that the model needs; it says what and where."""


class RunFailed(Error):
    """A model was given what it cannot take, or it stopped itself; what TensorFlow would say, and where."""


class InternalError(Error):
    """A bug in tfport itself, not in the model or its inputs; it names the node where it happened."""


class BadRegistration(Error):
    """An op or a kernel of one's own cannot be registered as it is declared; it says where, and why."""


class BadLibrary(Error):
    """A library of ops is not loaded: it is none, or was built for something else; it says what to do."""


class BuildFailed(Error):
    """A library of ops was not built: no compiler, no headers, or what the compiler says, with its place."""
