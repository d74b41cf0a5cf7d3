"""Queues of runs for workers, in the database of the journal."""
