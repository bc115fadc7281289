"""The way of a neuron from a proposal to an active one, and back: every decision about it."""
