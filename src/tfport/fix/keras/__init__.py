"""Rewrite a Keras file for another release of Keras."""
