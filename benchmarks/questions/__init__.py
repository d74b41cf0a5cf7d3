"""Score a planner by results: `python -m benchmarks.questions --planner NAME [--set NAME …]`.

Each question has plans or queries that give a right answer, or is one that has to be asked back. A
plan of the planner is right where it is one of the right plans, or where running both gives the
same rows: any planner can be compared, whatever SQL it writes. Each wrong answer is printed. A flip
is a wrong plan that turns a negation round, or changes something where the question only reads.
"""
