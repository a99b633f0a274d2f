"""Plans that are kept in files, for a second start of the same model."""
