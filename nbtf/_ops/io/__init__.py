"""Files, serialization and records: `tf.io`."""
