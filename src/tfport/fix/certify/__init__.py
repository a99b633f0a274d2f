"""Whether a model before and after a rewrite answers alike, tried out; and the paper that says so."""
