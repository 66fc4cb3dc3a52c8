"""`satline record`: what is asked for, the recording in the foreground, the units of a permanent one."""
