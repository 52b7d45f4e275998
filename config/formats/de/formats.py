"""German formats: 5. März 2026, 14:30."""

DATE_FORMAT = "j. M Y"
DATETIME_FORMAT = "j. M Y, H:i"
MONTH_DAY_FORMAT = "j. M"
SHORT_DATETIME_FORMAT = "j. M, H:i"
