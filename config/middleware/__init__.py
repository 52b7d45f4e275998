"""ASGI and Django middleware: tracing, CORS, limits, the gateway, request ids, security headers, languages."""
