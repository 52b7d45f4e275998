"""Monitor banks: dashboard, health, statistics, time series, and invariants checked on live data. Reads only."""
