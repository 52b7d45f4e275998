"""Tenants: who belongs to them, what each person and each API key may do, and the audit log of it."""
