"""Plans as tests: questions with their expected plans, asked of any planner or model.

Nothing is called. After a change of prompt, model or tool the tests show the changed plans.
"""
