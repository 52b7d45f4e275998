"""Erasing what was said, with everything derived from it: scope, cascade, requests, tombstones and retention."""
