"""Skip-gram with negative sampling over walks: settings, batches and training that walk techniques share."""
