"""What the engine costs, beside raw asyncio and, where they are installed, beside others."""
