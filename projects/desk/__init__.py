"""The owner's desk: create and configure projects, their keys, costs and notices; one's own account."""
