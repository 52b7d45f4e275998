"""How banks fare: health, statistics, time series and the invariants, checked on live data. Reads only."""
