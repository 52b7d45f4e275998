"""German formats: 5. März 2026, 14:30."""

DATE_FORMAT = "j. N Y"
DATETIME_FORMAT = "j. N Y, H:i"
MONTH_DAY_FORMAT = "j. N"
SHORT_DATETIME_FORMAT = "j. N, H:i"
