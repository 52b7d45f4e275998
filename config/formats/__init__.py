"""Date and time formats that differ from Django's: short, with a 24-hour clock."""
