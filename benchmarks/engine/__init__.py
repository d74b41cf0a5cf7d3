"""What the engine costs, beside raw asyncio in the same run: `python -m benchmarks.engine`."""
