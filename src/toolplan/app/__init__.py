"""One app for all shells: the command line, the MCP server, notebooks, other frameworks.

`app` has `App`, `results` what it returns, `settings` the user's settings,
`limits` how much a run does at once. Nothing is imported
here, so that a command loads only what it uses.
"""
