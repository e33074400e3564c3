"""The request, the decision and what it would take: a plan, checked before any work."""
