"""What the gateway asks the database and writes to it, without standing in a request's way."""
