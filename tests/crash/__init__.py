"""Runs in processes that are killed, and a ledger of what they did to the world."""
