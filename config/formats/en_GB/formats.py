"""British formats: 5 Mar 2026, 14:30."""

DATE_FORMAT = "j M Y"
TIME_FORMAT = "H:i"
DATETIME_FORMAT = "j M Y, H:i"
MONTH_DAY_FORMAT = "j M"
SHORT_DATETIME_FORMAT = "j M, H:i"
