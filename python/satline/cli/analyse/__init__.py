"""Commands that look at a recording: what it shows, what it predicts, what its users and devices do now."""
