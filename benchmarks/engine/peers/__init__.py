"""Other systems on the same plan, each where it is installed."""

from benchmarks.engine.peers.table import PEERS, absent, rows

__all__ = ["PEERS", "absent", "rows"]
