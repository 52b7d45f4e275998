"""Tenants, members, projects, and all interfaces to their memory. Only this app knows roles and permissions."""
