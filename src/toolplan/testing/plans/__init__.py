"""Plans as tests: questions with their expected plans, asked of any planner or model.

Nothing is called. Whoever changes a prompt, a model or a tool sees what changed in the plans.
"""
