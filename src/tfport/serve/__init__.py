"""Model server: TensorFlow Serving's API and the Open Inference Protocol in front of tfport's runtime."""

import logging

# the program that starts a server decides where log lines go
logging.getLogger(__name__).addHandler(logging.NullHandler())
