"""The works behind the rules, by the short names that rules cite."""

from __future__ import annotations

WORKS = {
    "Bard": "Y. Bard, Performance analysis of virtual memory time-sharing systems, IBM Systems Journal "
    "14(4), 1975",
    "TB84": "W. H. Tetzlaff, W. M. Buco, VM/370, Attached Processor, and multiprocessor performance study, "
    "IBM Systems Journal 23(4), 1984",
    "Bitner": "B. Bitner, VM/ESA Performance Case Studies, 1999",
    "AW79": "J. C. Adams, A. S. Wight, EMAS: performance measurement experiments using a remote terminal "
    "emulator, CPEUG 15, 1979 (Edinburgh CSR-57-80)",
    "T87": "W. H. Tetzlaff, T. Beretvas, W. M. Buco, J. Greenberg, D. R. Patterson, G. A. Spivak, "
    "A page-swapping prototype for VM/HPO, IBM Systems Journal 26(2), 1987",
}


def in_full(reference: str) -> str:
    """A rule's reference with the work's full title; what is no short name stays as it is."""
    return f"{reference} {WORKS[name]}" if (name := reference.strip("[]")) in WORKS else reference
