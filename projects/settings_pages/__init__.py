"""Pages on which owners and admins set up projects, API keys, webhooks and notices, and users their own account."""
