"""A question read into requests.

In reading order:

`reader` splits the question into `mentions`, with `imperatives` for verbs that no tool can do.
`computing` reads what is to be computed (`measures`, `ranks`, `groups` over one
`computation_state`). `parser` reads which things are asked for (`noun_phrase`, `values`,
`relations` over one `state`). Both give what `requests` defines; `sharing` and `spans` complete it.
`linker` binds what is said of a thing to arguments of tools, or to `conditions` on rows.
"""
