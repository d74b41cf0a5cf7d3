"""The grounded planner: offline, from the tools' schemas and hints alone."""
