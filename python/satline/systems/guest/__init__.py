"""A guest as the system under test: a machine of QEMU's of chosen storage, processors, paging devices."""
