"""The gateway at ``/v1``: programs get a project's memory by changing an address and a key."""
