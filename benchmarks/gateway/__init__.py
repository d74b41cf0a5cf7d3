"""The gateway: what a model reads and writes of it."""
