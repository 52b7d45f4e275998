"""What every request passes through, outermost first: limits, request ids, security headers, the gateway, languages."""
