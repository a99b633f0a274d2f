"""Score tables: `tfport.batch(model)` is a function from Arrow record batches to record batches."""
