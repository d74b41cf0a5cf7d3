"""Doubles that only our own tests use: a model server that answers as scripted, over real HTTP."""
