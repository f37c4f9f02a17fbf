"""What waits for descriptors: names of hosts, polls, asyncio's loop."""
