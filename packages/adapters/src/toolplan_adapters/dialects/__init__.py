"""The dialects of Clear AI, of kirha, and of the STATE of contracts."""
