"""What the tools are about: `schemas` reads one schema, `kinds` all tools, `lexicon` their words.

`connections` finds how one kind of thing leads to another.
"""
