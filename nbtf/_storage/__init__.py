"""How what is saved survives a full disk, a kill and a second saver. Nothing else in nbtf opens a file for writing."""
