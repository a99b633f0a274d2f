"""Translations of StableHLO ops, one module for each family; `table` imports them all."""
