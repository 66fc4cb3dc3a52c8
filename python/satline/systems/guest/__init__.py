"""A guest as the system under test: a machine of QEMU's with chosen storage, processors and paging devices."""
