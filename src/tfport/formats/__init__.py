"""Readers and writers of model files. They execute nothing and make no verdicts; see README.md."""

from tfport.startup.deferred_module import defer

# protobuf imports its messages and its database in Python, also where the compiled ones are used: a tenth
# of a short command
defer("google.protobuf.internal.python_message")
defer("google.protobuf.descriptor_database")
defer("google.protobuf.text_encoding")
