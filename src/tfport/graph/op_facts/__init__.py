"""What an op is: one table of kinds, shape rules and changes by release."""
