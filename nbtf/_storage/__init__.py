"""Saving that survives a full disk, a kill and concurrent savers. No other code in nbtf opens a file for writing."""
