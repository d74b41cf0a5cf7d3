"""A question read into requests."""
