"""Requests turned into a plan: `outcome` does it for one reading of a question.

`reports` and `writes` are the simple cases. `plan_builder` makes the steps that get rows, and
`aggregates` and `selection` the computing steps, all into one draft (`drafts`). `coverage` is the
reply where there is no plan.
"""
