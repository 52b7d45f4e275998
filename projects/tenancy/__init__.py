"""Tenants: who belongs to them, what each person and each API key may do, and the audit trail of it."""
