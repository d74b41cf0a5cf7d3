"""JSON as text: one tolerant reader that gives values and places, or text piece by piece.

It reads JSON and its variants by people and models: comments, single quotes, bare keys, trailing
commas, Python's constants. It is linear in the length of the text, and refuses values that are
nested too deep. Plans keep JSON pointers only: the place of one is looked up when a diagnostic is
shown.
"""
