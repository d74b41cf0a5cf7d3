"""The dialects, the checker and the repair, measured on plans that others wrote."""
