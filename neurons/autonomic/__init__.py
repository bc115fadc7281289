"""The layer that gives signals to the neurons that are awake."""
