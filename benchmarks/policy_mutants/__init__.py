"""Rules about flows, weakened one by one: each must be found by a test."""
