"""The table of system calls for the seccomp filter, by name and number: allowed, allowed with certain arguments, and
denied. The filter refuses all others, so that a new kernel brings no new way out.

Each entry is a name, its number on x86_64, and its number on aarch64 (`-` where it has none).
"""

from __future__ import annotations

MACHINES = {"x86_64": 0, "aarch64": 1}

_ALLOWED = """
read 0 63, write 1 64, readv 19 65, writev 20 66, pread64 17 67, pwrite64 18 68, lseek 8 62, close 3 57,
dup 32 23, dup2 33 -, dup3 292 24, pipe 22 -, pipe2 293 59,
fstat 5 80, stat 4 -, lstat 6 -, newfstatat 262 79, statx 332 291, readlink 89 -, readlinkat 267 78, access 21 -,
faccessat 269 48, faccessat2 439 439, statfs 137 43, fstatfs 138 44, getcwd 79 17, chdir 80 49, fchdir 81 50,
getdents64 217 61,
poll 7 -, ppoll 271 73, select 23 -, pselect6 270 72, epoll_create 213 -, epoll_create1 291 20, epoll_ctl 233 21,
epoll_wait 232 -, epoll_pwait 281 22, epoll_pwait2 441 441, eventfd 284 -, eventfd2 290 19, timerfd_create 283 85,
timerfd_settime 286 86, timerfd_gettime 287 87,
munmap 11 215, mprotect 10 226, mremap 25 216, mincore 27 232, brk 12 214, msync 26 227,
membarrier 324 283, pkey_alloc 330 289, pkey_free 331 290, pkey_mprotect 329 288, mseal 462 462,
map_shadow_stack 453 453,
set_robust_list 273 99, rseq 334 293, set_tid_address 218 96, gettid 186 178, arch_prctl 158 -, exit 60 93,
exit_group 231 94, restart_syscall 219 128,
rt_sigaction 13 134, rt_sigprocmask 14 135, rt_sigreturn 15 139, rt_sigsuspend 130 133, rt_sigpending 127 136,
rt_sigtimedwait 128 137, sigaltstack 131 132,
sched_yield 24 124, sched_get_priority_max 146 125, sched_get_priority_min 147 126, getcpu 309 168,
nanosleep 35 101, gettimeofday 96 169,
time 201 -, times 100 153, getrusage 98 165, sysinfo 99 179, uname 63 160, getrandom 318 278,
getpid 39 172, getppid 110 173, getuid 102 174, geteuid 107 175, getgid 104 176, getegid 108 177, getresuid 118 148,
getresgid 120 150, getgroups 115 158, getpgrp 111 -, getrlimit 97 163,
wait4 61 260, waitid 247 95, recvfrom 45 207, shutdown 48 210,
"""

_CONDITIONAL = """
open 2 -, openat 257 56, close_range 436 436, mmap 9 222, madvise 28 233, futex 202 98, clone 56 220, execve 59 221,
kill 62 129, tgkill 234 131, prctl 157 167, prlimit64 302 261, getpriority 140 141, getsid 124 156, getpgid 121 155,
sched_getaffinity 204 123, sched_getparam 143 121, sched_getscheduler 145 120, ioctl 16 29, fcntl 72 25,
socketpair 53 199, sendto 44 206, clock_gettime 228 113, clock_getres 229 114, clock_nanosleep 230 115,
"""

# These fail as "not permitted" and not as "no such call": the code that tries them gets a clearer error.
_DENIED = """
socket 41 198, connect 42 203, bind 49 200, listen 50 201, accept 43 202, accept4 288 242, sendmsg 46 211,
sendmmsg 307 269, recvmsg 47 212, recvmmsg 299 243, setsockopt 54 208, getsockopt 55 209, getsockname 51 204,
getpeername 52 205,
fork 57 -, vfork 58 -, execveat 322 281, ptrace 101 117, process_vm_readv 310 270, process_vm_writev 311 271,
pidfd_open 434 434, pidfd_getfd 438 438, pidfd_send_signal 424 424, rt_sigqueueinfo 129 138,
rt_tgsigqueueinfo 297 240, tkill 200 130,
creat 85 -, truncate 76 45, ftruncate 77 46, mkdir 83 -, mkdirat 258 34, rmdir 84 -, unlink 87 -, unlinkat 263 35,
rename 82 -, renameat 264 38, renameat2 316 276, link 86 -, linkat 265 37, symlink 88 -, symlinkat 266 36,
mknod 133 -, mknodat 259 33,
chmod 90 -, fchmod 91 52, fchmodat 268 53, fchmodat2 452 452, chown 92 -, fchown 93 55, lchown 94 -,
fchownat 260 54, utime 132 -, utimes 235 -, utimensat 280 88, futimesat 261 -, setxattr 188 5, lsetxattr 189 6,
fsetxattr 190 7, removexattr 197 14, lremovexattr 198 15, fremovexattr 199 16,
setsid 112 157, setpgid 109 154, setrlimit 160 164, setuid 105 146, setgid 106 144, setreuid 113 145,
setregid 114 143, setresuid 117 147, setresgid 119 149, setgroups 116 159, capset 126 91, unshare 272 97,
setns 308 268, mount 165 40, umount2 166 39, pivot_root 155 41, chroot 161 51,
"""


def _table(text: str, machine: str) -> dict[str, int]:
    entries = (entry.split() for entry in text.replace("\n", " ").split(",") if entry.strip())
    numbers = ((name, both[MACHINES[machine]]) for name, *both in entries)
    return {name: int(number) for name, number in numbers if number != "-"}


def allowed(machine: str) -> dict[str, int]:
    return _table(_ALLOWED, machine)


def conditional(machine: str) -> dict[str, int]:
    return _table(_CONDITIONAL, machine)


def denied(machine: str) -> dict[str, int]:
    return _table(_DENIED, machine)
