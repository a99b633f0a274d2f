"""Readers and writers of model files. They neither judge nor execute what they read; see README.md."""
