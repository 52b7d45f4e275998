"""All that changes a bank: recording, summarising, rolling up, settings, and the queue of what is due."""
