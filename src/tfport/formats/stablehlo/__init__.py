"""StableHLO modules as XlaCallModule stores them: MLIR bytecode and the dialect vhlo."""
