"""Serving over HTTP on one machine: who may connect, and how many at once.

`toolplan mcp --http` and `toolplan studio` have the same guard.
"""
