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
