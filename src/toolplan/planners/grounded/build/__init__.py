"""Requests turned into steps of a plan."""
