"""Predict any dynamical system from its context alone."""
