"""Questions written from the tools alone, by somebody who did not know any planner.

`demo.json` asks the demo, `vet.json` an invented domain, whose tools there are with and without
hints. A question has `queries`, any of which gives the right rows, or `plans`; one with neither has
to be asked back.
"""
