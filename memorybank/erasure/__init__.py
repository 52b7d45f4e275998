"""Erase turns with everything derived from them: scope, cascade, requests, tombstones and retention."""
