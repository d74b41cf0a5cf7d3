"""Hypothesis profiles: `default` is quick and always the same, `long` looks harder.

`HYPOTHESIS_PROFILE=long pytest tests/dialects` runs the laws with 2,000 examples each.
"""

from __future__ import annotations

import os

from hypothesis import HealthCheck, settings

settings.register_profile("default", deadline=None, derandomize=True, max_examples=50)
settings.register_profile(
    "long", deadline=None, max_examples=2_000, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "default"))
