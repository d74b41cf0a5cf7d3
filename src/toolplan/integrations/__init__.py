"""Faces for people who come from other systems: their names and shapes, our engine behind them."""
