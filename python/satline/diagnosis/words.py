"""How a diagnosis writes figures and names, for whoever shows one."""

from satline.diagnosis._answer import chance_words, resource_words, times
from satline.diagnosis._carried_words import amount
from satline.diagnosis._figures import span_words, two_digits

__all__ = ["amount", "chance_words", "resource_words", "span_words", "times", "two_digits"]
