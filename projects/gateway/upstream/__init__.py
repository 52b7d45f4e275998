"""The providers that requests are forwarded to: choose one, send to it, and clean its errors."""
