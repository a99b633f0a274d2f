"""XLA ops and StableHLO modules."""
