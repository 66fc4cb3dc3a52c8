"""`satline simulate` in its forms, and `satline calibrate`."""
