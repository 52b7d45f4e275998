"""Pages for owners and admins (projects, API keys, costs, notices), and each user's account pages."""
