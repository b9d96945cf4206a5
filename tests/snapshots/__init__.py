"""Tests of memory snapshots."""
