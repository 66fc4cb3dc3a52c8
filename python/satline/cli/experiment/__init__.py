"""`satline study` and the commands around experiments: shipped studies, designs, their analysis, power."""
