"""Documents by key that survive any crash, and neurons as documents."""
