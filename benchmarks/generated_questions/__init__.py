"""Generated questions, without a model: `python -m benchmarks.generated_questions`.

Questions that rank ("top 3 carriers by …"), measure ("how much …", "the total …") and bound ("under
450 kg") are put together by a seed, over the demo and over the shop of `shop`. Each has
a query of its own in plain SQL against the same rows in SQLite, and the numbers are compared. A
question may be asked back or refused; it exits 1 where an answer is wrong.
"""
