"""Workers: processes on any machine that take runs and continue them with the engine.

The journal has the truth about a run; the queue only its current worker. So a worker that takes a
run over knows the finished calls, and no effect is repeated because a machine is gone.
"""

from toolplan_workers.worker import DEFAULT_CONCURRENCY, work

__all__ = ["DEFAULT_CONCURRENCY", "work"]
