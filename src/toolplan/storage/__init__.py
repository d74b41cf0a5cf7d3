"""What is kept on disk: journals of runs, conversations, plans that worked."""
