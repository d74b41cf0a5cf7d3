"""Dry runs: a plan simulated without calling a tool, on sample values made from the schemas."""
