"""Runs without calls: what a plan would do, on values made from the schemas."""
