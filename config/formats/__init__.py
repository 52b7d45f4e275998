"""How dates and times look, where this site wants it otherwise than Django: short, and by 24 hours."""
