"""Commands that look after recordings: checks, signatures, names, retention, notes, joined logs."""
