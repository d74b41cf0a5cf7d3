"""The real scheduler and the real journal; clock, disk and world are simulated, by seed."""
