"""Statistics that several analyses use: below all of them, and thin over scipy.

    from satline.stats import f_tail, holm, isotonic

What follows a distribution is in `_distributions`, what needs none in `_distribution_free`.
"""

from satline.stats._distribution_free import false_discoveries, holm, isotonic, wilson
from satline.stats._distributions import (
    NORMAL_97_5,
    chi_square_tail,
    f_power,
    f_quantile,
    f_tail,
    kolmogorov_tail,
    normal_cdf,
    t_quantile,
    t_two_sided,
)

__all__ = [
    "NORMAL_97_5",
    "chi_square_tail",
    "f_power",
    "f_quantile",
    "f_tail",
    "false_discoveries",
    "holm",
    "isotonic",
    "kolmogorov_tail",
    "normal_cdf",
    "t_quantile",
    "t_two_sided",
    "wilson",
]
