"""Types: dtypes and promotion, devices, sizes, specs. Plain immutable facts, no behaviour."""
