"""What of a file is in memory, and how it is put out of it: of the page cache, and of a process that has mapped the file.

``posix_fadvise`` leaves the pages that a process has mapped and touched, as a broker has those of its commit log. Such pages go
by ``process_madvise``, which needs Linux 5.10 and root.
"""

import ctypes
import errno
import mmap
import os
import platform
from collections.abc import Collection, Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path

from harness.errors import LeaseError
from harness.host.abilities import Abilities

_PROCESS_MADVISE, _MADV_PAGEOUT = 440, 21
"""The number of the system call, which is the same on all machines but Alpha; linux/mman.h."""

_NO_ADDRESS = ctypes.c_void_p(-1).value

_libc = ctypes.CDLL(None, use_errno=True)
_libc.mmap.restype = ctypes.c_void_p
_libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.c_long]


class _Range(ctypes.Structure):
    """``struct iovec``."""

    _fields_ = [("base", ctypes.c_void_p), ("length", ctypes.c_size_t)]


def resident_bytes(path: Path) -> int:
    """How much of a file is in the page cache, in whole pages (mincore). Raises OSError."""
    with path.open("rb") as file:
        length = os.fstat(file.fileno()).st_size
        if not length:
            return 0
        # Mapping it brings no page of it into memory.
        address = _libc.mmap(None, length, mmap.PROT_READ, mmap.MAP_SHARED, file.fileno(), 0)
        if address == _NO_ADDRESS:
            raise OSError(ctypes.get_errno(), f"{path} cannot be mapped")
        pages = (ctypes.c_ubyte * -(-length // mmap.PAGESIZE))()
        looked = _libc.mincore(ctypes.c_void_p(address), ctypes.c_size_t(length), pages)
        number = ctypes.get_errno()
        _libc.munmap(ctypes.c_void_p(address), ctypes.c_size_t(length))
    if looked != 0:
        raise OSError(number, f"{path}: what of it is in memory cannot be told")
    # The lowest bit says it; the others mean nothing.
    return sum(page & 1 for page in bytes(pages)) * mmap.PAGESIZE


def evict(paths: Sequence[Path], pid: int) -> None:
    """Write files back and put all of their pages out of memory, out of that of the process ``pid``, too.

    Raises:
        LeaseError: the kernel cannot, or does not let us.
    """
    try:
        with ExitStack() as opened:
            handles = [_opened(opened, path) for path in paths]
            for handle in handles:
                os.fsync(handle)
            _page_out(pid, list(_mapped(pid, {_identity(os.fstat(handle)) for handle in handles})))
            for handle in handles:
                os.posix_fadvise(handle, 0, 0, os.POSIX_FADV_DONTNEED)
    except OSError as error:
        raise LeaseError(f"{len(paths)} files cannot be put out of memory: {error.strerror}") from error


def why_no_eviction(host: Abilities) -> str | None:
    """Why pages that another process has mapped cannot be put out of memory here; None when they can."""
    if not host.root:
        return "putting another process's pages out of memory needs root"
    _libc.syscall(_PROCESS_MADVISE, -1, None, ctypes.c_size_t(0), _MADV_PAGEOUT, 0)
    if ctypes.get_errno() == errno.ENOSYS:
        return f"putting another process's pages out of memory needs Linux 5.10, and this is {platform.release()}"
    return None


def _opened(opened: ExitStack, path: Path) -> int:
    handle = os.open(path, os.O_RDWR | os.O_CLOEXEC)
    opened.callback(os.close, handle)
    return handle


def _identity(status: os.stat_result) -> tuple[int, int, int]:
    return os.major(status.st_dev), os.minor(status.st_dev), status.st_ino


def _mapped(pid: int, files: Collection[tuple[int, int, int]]) -> Iterator[_Range]:
    """Where a process has mapped these files: lines ``7f00-7f10 rw-s 00000000 07:01 13 /path`` (proc(5))."""
    for line in Path(f"/proc/{pid}/maps").read_text(errors="replace").splitlines():
        addresses, _, _, device, inode, *_ = line.split()
        major, minor = (int(number, 16) for number in device.split(":"))
        if (major, minor, int(inode)) in files:
            first, end = (int(address, 16) for address in addresses.split("-"))
            yield _Range(first, end - first)


def _page_out(pid: int, ranges: Sequence[_Range]) -> None:
    if not ranges:
        return
    handle = os.pidfd_open(pid)
    try:
        # One by one: the kernel takes a limited number at once, and may stop after the first.
        for one in ranges:
            done = _libc.syscall(_PROCESS_MADVISE, handle, ctypes.byref(one), ctypes.c_size_t(1), _MADV_PAGEOUT, 0)
            if done < 0:
                number = ctypes.get_errno()
                raise OSError(number, os.strerror(number))
    finally:
        os.close(handle)
