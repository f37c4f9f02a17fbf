"""asyncio's loop over the host of components."""
