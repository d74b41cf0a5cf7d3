"""Questions written from the tools alone, by somebody who did not know any planner.

`demo.json` and `demo_2.json` ask the demo, `vet.json` and `digs.json` are invented domains
(`frozen.py`). A question has `queries`, any of which gives the right rows, or `plans`; one with
neither has to be asked back.
"""
