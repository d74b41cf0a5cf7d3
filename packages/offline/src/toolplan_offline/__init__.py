"""The planner without a model: a question is read by one grammar, or it is asked back."""
