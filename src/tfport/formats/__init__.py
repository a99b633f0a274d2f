"""Readers and writers of model files. They execute nothing and make no verdicts; see README.md."""
