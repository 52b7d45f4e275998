"""Database access of the gateway: reads are bounded in time and writes are queued, so that no request waits long."""
