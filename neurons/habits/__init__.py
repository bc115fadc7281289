"""Scripts that come back: what they are recognised by, what is noticed of them, and what is kept for a quarantine."""
