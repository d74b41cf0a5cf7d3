"""Foundations of all rooms: errors, extensions, threads, the version."""
