"""Workers: processes on any machine that take runs and continue them with the engine.

The journal has the truth about a run; the queue says only who works on it. So whoever takes a run
over knows what was done, and no effect is repeated because a machine is gone.
"""

from toolplan_workers.worker import DEFAULT_CONCURRENCY, work

__all__ = ["DEFAULT_CONCURRENCY", "work"]
