"""What holds for all tests: property tests have no time limit, since hosts that are busy are slow."""

from hypothesis import settings

settings.register_profile("satline", deadline=None)
settings.load_profile("satline")
