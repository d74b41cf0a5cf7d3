"""Workers on one machine, measured; see `__main__`."""
