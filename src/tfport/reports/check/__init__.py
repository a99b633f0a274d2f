"""The report of `tfport check`, and its report formats."""
