"""`satline simulate` in its forms, and `satline simulate calibrate`."""
