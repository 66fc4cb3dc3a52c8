"""What holds for all tests."""

from hypothesis import HealthCheck, settings

# On a busy machine an example may take any time, and no test asserts how long.
settings.register_profile("any machine", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("any machine")
