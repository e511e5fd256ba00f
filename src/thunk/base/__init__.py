"""Base: errors, options, logging and pytrees. Enters nothing; every other layer builds on it."""
