"""Steps that are chosen while a study runs: what the recording holds → a decision → the next step."""
