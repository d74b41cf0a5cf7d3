"""Ten tools without hints and 40 questions: `python -m benchmarks.plain_tools`.

Five are functions in Python, five are tool objects as MCP servers list them. Each question has the
one call that is right, or is one that has to be asked back. It exits 1 where a call is wrong.
"""
