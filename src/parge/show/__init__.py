"""What people read: safe text, progress, values in notebooks, and the table of a plan."""
