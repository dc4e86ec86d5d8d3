"""What a block device has counted since it is there, by the kernel's figures; ``device`` is ``MAJOR:MINOR``."""

from pathlib import Path

READS, SECTORS_READ, SECTORS_WRITTEN = 0, 2, 6
"""Fields of /sys/dev/block/*/stat, from 0."""

_SECTOR_BYTES = 512


def device_bytes(device: str, sectors: int) -> int:
    """Bytes that it was given, or gave; ``sectors`` is one of the two fields of sectors above."""
    return device_count(device, sectors) * _SECTOR_BYTES


def device_count(device: str, field: int) -> int:
    """One of the fields above. Raises OSError where the device is gone."""
    return int(Path(f"/sys/dev/block/{device}/stat").read_text().split()[field])
