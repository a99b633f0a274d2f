"""Recognize layers in programs: recurrent layers in loops, embedding lookups in sparse ops.

They are found by what the steps compute, not by names, and replaced by one step each, for which the
engine or NumPy has one fast function.
"""
