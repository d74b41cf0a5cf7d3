"""The real scheduler and the real journal; clock, disk and world are made up, by seed."""
