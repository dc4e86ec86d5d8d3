"""The few calls of Linux that faults need: loop mounts, freezing a file system, and whose a mount is.

Standard library only: the healer and the freezer import this. Everything here needs root.
"""

import contextlib
import ctypes
import errno
import fcntl
import os
import re
import struct
import uuid
from dataclasses import dataclass
from pathlib import Path

FIFREEZE, FITHAW = 0xC0045877, 0xC0045878
"""_IOWR('X', 119, int) and _IOWR('X', 120, int) of linux/fs.h."""

_EXT4_IOC_SHUTDOWN, _EXT4_GOING_FLAGS_NOLOGFLUSH = 0x8004587D, 2

_LOOP_CTL_GET_FREE, _LOOP_CONFIGURE, _LOOP_CLR_FD = 0x4C82, 0x4C0A, 0x4C01
_LO_FLAGS_AUTOCLEAR = 4
_LOOP_FLAGS_OFFSET, _LOOP_CONFIG_BYTES = 60, 304
"""linux/loop.h, struct loop_config: two 32-bit words, loop_info64 of 232 bytes whose lo_flags is its 13th word, and
eight reserved 64-bit words."""

_MS_NOSUID, _MS_NODEV, _MS_NOEXEC, _MS_NOATIME = 2, 4, 8, 1024
_MNT_DETACH = 2
_MCL_CURRENT, _MCL_FUTURE = 1, 2

_MOUNT_DATA = {"ext4": b"barrier=0", "xfs": b"nouuid"}
"""A barrier would flush the image file to the host's disk, at each thaw too, and a thaw must not wait for a busy disk.
What is written is with the host's page cache then, which is as safe as a store that lives for one deployment need be."""

_UUID_OFFSETS = {"ext4": 1024 + 0x68, "xfs": 32}
"""Where the superblock has the file system's UUID."""

_libc = ctypes.CDLL(None, use_errno=True)


@dataclass(frozen=True, kw_only=True)
class Mount:
    """One line of /proc/self/mountinfo. ``device`` is ``MAJOR:MINOR``."""

    mountpoint: str
    kind: str
    device: str

    @property
    def backing_file(self) -> str | None:
        """The file under a loop device; None for any other device."""
        try:
            text = Path(f"/sys/dev/block/{self.device}/loop/backing_file").read_text()
        except OSError:
            return None
        # A file that was deleted under its mount is still the same file.
        return text.rstrip("\n").removesuffix(" (deleted)")

    @property
    def device_path(self) -> Path:
        """``/dev/loop3``."""
        return Path("/dev") / Path(f"/sys/dev/block/{self.device}").resolve().name


def mounts() -> list[Mount]:
    """All mounts that this process sees, in the order in which they were made."""
    return [_mount(line) for line in Path("/proc/self/mountinfo").read_text().splitlines()]


def _mount(line: str) -> Mount:
    before, after = line.split(" - ", 1)
    fields = before.split()
    return Mount(mountpoint=_unescaped(fields[4]), kind=after.split()[0], device=fields[2])


def _unescaped(text: str) -> str:
    return re.sub(r"\\([0-7]{3})", lambda match: chr(int(match[1], 8)), text)


def file_system_uuid(path: Path, kind: str) -> str:
    """The UUID in the superblock of an image or device; empty when it cannot be read."""
    try:
        with path.open("rb") as file:
            file.seek(_UUID_OFFSETS[kind])
            return str(uuid.UUID(bytes=file.read(16)))
    except (OSError, KeyError, ValueError):
        return ""


def our_mount(mountpoint: str, image: str, uuid_text: str) -> Mount | None:
    """The mount at ``mountpoint`` when it is of this image and has this UUID, else None, whatever is mounted there.

    Raises OSError when it is there, but under another mount: whoever goes to that place meets the other one.
    """
    stacked = [mount for mount in mounts() if mount.mountpoint == mountpoint]
    ours = [mount for mount in stacked if _is_ours(mount, image, uuid_text)]
    if not ours:
        return None
    if ours[-1] is not stacked[-1]:
        raise OSError(errno.EBUSY, f"something else is mounted over {mountpoint}")
    return ours[-1]


def _is_ours(mount: Mount, image: str, uuid_text: str) -> bool:
    return mount.backing_file == image and file_system_uuid(mount.device_path, mount.kind) == uuid_text


def mount_image(image: Path, mountpoint: Path, kind: str) -> None:
    """Mount an image by a loop device that frees itself when it is unmounted. Raises OSError.

    By system calls and not by mount(8): a program that is killed here has either mounted or not, and no child of it
    mounts after the healer has looked.
    """
    with contextlib.ExitStack() as opened:
        image_handle = _open(opened, image, os.O_RDWR)
        control = _open(opened, Path("/dev/loop-control"), os.O_RDWR)
        device = _configured_loop(opened, control, image_handle)
        flags = _MS_NOSUID | _MS_NODEV | _MS_NOEXEC | _MS_NOATIME
        source, target = str(device).encode(), str(mountpoint).encode()
        mounted = _libc.mount(source, target, kind.encode(), ctypes.c_ulong(flags), _MOUNT_DATA[kind])
        _check(mounted, f"mount {image}")


def _configured_loop(opened: contextlib.ExitStack, control: int, image_handle: int) -> Path:
    """A loop device on the image, held open: autoclear ends it with its last user."""
    config = bytearray(_LOOP_CONFIG_BYTES)
    struct.pack_into("=I", config, 0, image_handle)
    struct.pack_into("=I", config, _LOOP_FLAGS_OFFSET, _LO_FLAGS_AUTOCLEAR)
    for _ in range(64):
        number = fcntl.ioctl(control, _LOOP_CTL_GET_FREE)
        device = Path(f"/dev/loop{number}")
        handle = _open(opened, device, os.O_RDWR)
        try:
            fcntl.ioctl(handle, _LOOP_CONFIGURE, bytes(config))
            return device
        except OSError as error:
            if error.errno != errno.EBUSY:
                raise
            # Somebody else took the device between our two calls.
    raise OSError(errno.EBUSY, "no loop device is free")


def _open(opened: contextlib.ExitStack, path: Path, flags: int) -> int:
    handle = os.open(path, flags | os.O_CLOEXEC)
    opened.callback(os.close, handle)
    return handle


def set_read_ahead(mount: Mount, kilobytes: int) -> None:
    """How much is read ahead of whoever reads files of this mount that are opened from now on. Raises OSError."""
    Path(f"/sys/dev/block/{mount.device}/queue/read_ahead_kb").write_text(str(kilobytes))


def unmount(mountpoint: str, *, lazily: bool = False) -> None:
    """Raises OSError: EBUSY while something uses it, EINVAL when nothing is mounted there.

    ``lazily`` takes the mount out of sight at once and ends it with its last user.
    """
    _check(_libc.umount2(os.fsencode(mountpoint), _MNT_DETACH if lazily else 0), f"unmount {mountpoint}")


def clear_loops(image: str) -> None:
    """Detach every loop device of an image that is still there, for example one that was never mounted."""
    for entry in Path("/sys/block").glob("loop*"):
        try:
            backing = (entry / "loop/backing_file").read_text().rstrip("\n").removesuffix(" (deleted)")
            if backing == image:
                with contextlib.ExitStack() as opened:
                    fcntl.ioctl(_open(opened, Path("/dev") / entry.name, os.O_RDWR), _LOOP_CLR_FD)
        except OSError:
            continue  # Not in use, or gone just now.


def open_mountpoint(path: str) -> int:
    """A handle to freeze and thaw by. Raises OSError."""
    return os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)


def sync_file_system(handle: int) -> None:
    """Write back what is dirty on the file system of ``handle``."""
    _check(_libc.syncfs(handle), "syncfs")


def freeze(handle: int) -> None:
    """Returns when nothing can write any more. Raises OSError (EBUSY: it is frozen already)."""
    fcntl.ioctl(handle, FIFREEZE, 0)


def thaw(handle: int) -> bool:
    """False when it was not frozen. Raises OSError."""
    try:
        fcntl.ioctl(handle, FITHAW, 0)
    except OSError as error:
        if error.errno == errno.EINVAL:
            return False
        raise
    return True


def shut_down_ext4(handle: int) -> None:
    """Let an ext4 do nothing more, as it is and without flushing its journal. Raises OSError.

    EXT4_IOC_SHUTDOWN, _IOR('X', 125, __u32), with EXT4_GOING_FLAGS_NOLOGFLUSH (fs/ext4/ext4.h).
    """
    fcntl.ioctl(handle, _EXT4_IOC_SHUTDOWN, struct.pack("=I", _EXT4_GOING_FLAGS_NOLOGFLUSH))


def lock_memory() -> bool:
    """Keep this process in memory, so that no page of it has to be read while it is about to thaw something."""
    return bool(_libc.mlockall(_MCL_CURRENT | _MCL_FUTURE) == 0)


def _check(result: int, what: str) -> None:
    if result != 0:
        number = ctypes.get_errno()
        raise OSError(number, f"{what}: {os.strerror(number)}")
