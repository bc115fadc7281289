"""A candidate is tried where nothing that it does reaches anything."""
