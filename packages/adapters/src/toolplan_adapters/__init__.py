"""Adapters for people from other systems: their names and shapes, our engine behind them."""
