"""AgentDojo's user tasks as plans: which can be planned, and what policies decide about them.

The plans are written by hand, for the tasks of half of its users that DATA.md describes; the
policies too. Whether the plans solve the tasks is not seen here: the environments are not there.
"""
