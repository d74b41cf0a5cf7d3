"""Files on disk: journals of runs, conversations, plans that worked."""
