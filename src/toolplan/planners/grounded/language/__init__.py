"""English that belongs to no domain."""
