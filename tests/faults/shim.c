/*
 * Stands between a program and the system, by LD_PRELOAD, for files below one directory. Three things, by the environment:
 *
 *   SATLINE_SHIM_ROOT   the directory (absolute, without links); without it nothing is done but the clock's
 *   SATLINE_SHIM_LOG    each change of a file or a name that succeeded, and each sync, is appended there, in order
 *   SATLINE_SHIM_FAULT  KIND:N:ERROR[:COUNT] the N-th call of a kind (from 1) fails by this number; COUNT of them do, 0: all from
 *                       there on. KIND: open write sync rename link unlink mkdir truncate read any. ERROR 0: a write is cut short
 *                       N 0: none fails, and their number is told at the end
 *   SATLINE_SHIM_TOLD   file to which the fault that came is appended: kind, path; or "calls", number
 *   SATLINE_SHIM_CLOCK  file with nanoseconds that are added to the real-time clock; read at each call
 *
 * A record of the log is the header below, the first name, the second name, the data.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

enum operation { CREATE = 1, WRITE, TRUNCATE, SYNC_DATA, SYNC, RENAME, LINK, UNLINK, MKDIR, RMDIR };

struct record {
    uint32_t operation, process;
    uint64_t inode;
    int64_t offset;
    uint32_t first_bytes, second_bytes, data_bytes, directory;
};

static const char *root, *log_name, *told_name, *clock_name;
static size_t root_bytes;
static char fault_kind[16];
static long fault_first, fault_error, fault_count = 1, fault_seen;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

#define REAL(result, name, ...)                                                                                        \
    static result (*real_##name)(__VA_ARGS__);                                                                         \
    if (!real_##name)                                                                                                  \
    real_##name = dlsym(RTLD_NEXT, #name)

static int raw_open(const char *path, int flags, mode_t mode) {
    REAL(int, open, const char *, int, ...);
    return real_open(path, flags, mode);
}

static ssize_t raw_write(int fd, const void *data, size_t bytes) {
    REAL(ssize_t, write, int, const void *, size_t);
    return real_write(fd, data, bytes);
}

/* For a program that has it loaded, and forks a child for each fault. */
__attribute__((visibility("default"))) void satline_shim_fault(const char *fault, const char *told) {
    fault_kind[0] = 0;
    fault_seen = 0;
    fault_count = 1;
    told_name = told ? strdup(told) : NULL;
    if (fault && sscanf(fault, "%15[a-z]:%ld:%ld:%ld", fault_kind, &fault_first, &fault_error, &fault_count) < 3)
        fault_kind[0] = 0;
}

__attribute__((constructor)) static void begin(void) {
    root = getenv("SATLINE_SHIM_ROOT");
    root_bytes = root ? strlen(root) : 0;
    log_name = getenv("SATLINE_SHIM_LOG");
    clock_name = getenv("SATLINE_SHIM_CLOCK");
    satline_shim_fault(getenv("SATLINE_SHIM_FAULT"), getenv("SATLINE_SHIM_TOLD"));
}

/* ------------------------------------------------------------------------------------------------ names */

static int ours(const char *path) {
    return root && strncmp(path, root, root_bytes) == 0 && (path[root_bytes] == '/' || path[root_bytes] == 0);
}

/* The absolute name of what `path` means; empty if it cannot be known. */
static const char *absolute(int directory, const char *path, char *into) {
    char link[64];
    ssize_t length;
    if (path[0] == '/') {
        snprintf(into, PATH_MAX, "%s", path);
        return into;
    }
    if (directory == AT_FDCWD)
        snprintf(link, sizeof link, "/proc/self/cwd");
    else
        snprintf(link, sizeof link, "/proc/self/fd/%d", directory);
    length = readlink(link, into, PATH_MAX - 2);
    if (length < 0)
        length = 0;
    snprintf(into + length, PATH_MAX - (size_t)length, "/%s", path);
    return into;
}

/* The name of an open file if it is ours, else null; a deleted one ends with " (deleted)". */
static const char *name_of(int fd, char *into) {
    char link[64];
    int before = errno;
    ssize_t length;
    if (!root)
        return NULL;
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    length = readlink(link, into, PATH_MAX - 1);
    errno = before;
    if (length < 0)
        return NULL;
    into[length] = 0;
    return ours(into) ? into : NULL;
}

/* ------------------------------------------------------------------------------------------------ log */

/* What one program does is logged in the order in which it happens: from before an operation until it is in the log. */
static int hold(void) {
    int before = errno, fd = -1;
    if (log_name) {
        pthread_mutex_lock(&mutex);
        /* Another process holds it too: each opens it anew. */
        fd = raw_open(log_name, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
        if (fd >= 0)
            flock(fd, LOCK_EX);
    }
    errno = before;
    return fd;
}

static void release(int fd) {
    int before = errno;
    if (log_name) {
        if (fd >= 0)
            close(fd);
        pthread_mutex_unlock(&mutex);
    }
    errno = before;
}

static void note(int log, enum operation operation, const struct stat *file, int64_t offset, const char *first,
                 const char *second, const void *data, size_t bytes) {
    int before = errno;
    struct record record = {.operation = operation, .process = (uint32_t)getpid(), .offset = offset};
    struct iovec parts[4];
    if (log < 0)
        return;
    if (file) {
        record.inode = file->st_ino;
        record.directory = S_ISDIR(file->st_mode);
    }
    record.first_bytes = first ? (uint32_t)strlen(first) : 0;
    record.second_bytes = second ? (uint32_t)strlen(second) : 0;
    record.data_bytes = (uint32_t)bytes;
    parts[0] = (struct iovec){&record, sizeof record};
    parts[1] = (struct iovec){(void *)first, record.first_bytes};
    parts[2] = (struct iovec){(void *)second, record.second_bytes};
    parts[3] = (struct iovec){(void *)data, bytes};
    REAL(ssize_t, writev, int, const struct iovec *, int);
    if (real_writev(log, parts, 4) < 0)
        abort();
    errno = before;
}

/* ------------------------------------------------------------------------------------------------ faults */

static void tell(const char *kind, const char *path) {
    char line[PATH_MAX + 32];
    int length = snprintf(line, sizeof line, "%s %s\n", kind, path);
    int fd = told_name ? raw_open(told_name, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600) : -1;
    if (fd >= 0) {
        raw_write(fd, line, (size_t)length);
        close(fd);
    }
}

/* Whether this call is to fail; errno is set then. A short write is one with error 0. */
static int fails(const char *kind, const char *path) {
    long number;
    if (!fault_kind[0] || (strcmp(fault_kind, kind) != 0 && strcmp(fault_kind, "any") != 0))
        return 0;
    number = __atomic_add_fetch(&fault_seen, 1, __ATOMIC_SEQ_CST);
    if (!fault_first || number < fault_first || (fault_count && number >= fault_first + fault_count))
        return 0;
    if (fault_error == 0 && strcmp(kind, "write") != 0)
        return 0;
    tell(kind, path);
    errno = (int)fault_error;
    return 1;
}

/* How many calls there were, where none was to fail. */
__attribute__((visibility("default"))) void satline_shim_count(void) {
    char number[32];
    if (fault_kind[0] && fault_first == 0) {
        snprintf(number, sizeof number, "%ld", fault_seen);
        tell("calls", number);
    }
}

__attribute__((destructor)) static void end(void) { satline_shim_count(); }

/* ------------------------------------------------------------------------------------------------ calls */

static int opened(int directory, const char *path, int flags, mode_t mode) {
    char name[PATH_MAX];
    struct stat before, after;
    int log, fd, changes, was;
    REAL(int, openat, int, const char *, int, ...);
    if (!root || !ours(absolute(directory, path, name)))
        return real_openat(directory, path, flags, mode);
    if (fails("open", name))
        return -1;
    changes = (flags & O_CREAT) || (flags & O_TRUNC);
    if (!changes)
        return real_openat(directory, path, flags, mode);
    log = hold();
    was = stat(name, &before) == 0;
    fd = real_openat(directory, path, flags, mode);
    if (fd >= 0 && fstat(fd, &after) == 0) {
        if (!was)
            note(log, CREATE, &after, 0, name, NULL, NULL, 0);
        else if ((flags & O_TRUNC) && before.st_size)
            note(log, TRUNCATE, &after, 0, name, NULL, NULL, 0);
    }
    release(log);
    return fd;
}

#define WITH_MODE(flags)                                                                                               \
    mode_t mode = 0;                                                                                                   \
    if ((flags) & (O_CREAT | O_TMPFILE)) {                                                                             \
        va_list list;                                                                                                  \
        va_start(list, flags);                                                                                         \
        mode = va_arg(list, mode_t);                                                                                   \
        va_end(list);                                                                                                  \
    }

int open(const char *path, int flags, ...) {
    WITH_MODE(flags)
    return opened(AT_FDCWD, path, flags, mode);
}
int open64(const char *path, int flags, ...) {
    WITH_MODE(flags)
    return opened(AT_FDCWD, path, flags | O_LARGEFILE, mode);
}
int openat(int directory, const char *path, int flags, ...) {
    WITH_MODE(flags)
    return opened(directory, path, flags, mode);
}
int openat64(int directory, const char *path, int flags, ...) {
    WITH_MODE(flags)
    return opened(directory, path, flags | O_LARGEFILE, mode);
}

static ssize_t written(int fd, const void *data, size_t bytes, int64_t at) {
    char name[PATH_MAX];
    struct stat file;
    ssize_t done;
    int log;
    REAL(ssize_t, pwrite64, int, const void *, size_t, off_t);
    if (!name_of(fd, name) || fstat(fd, &file) != 0 || !S_ISREG(file.st_mode))
        return at < 0 ? raw_write(fd, data, bytes) : real_pwrite64(fd, data, bytes, at);
    if (fails("write", name)) {
        if (errno)
            return -1;
        bytes = bytes > 1 ? bytes / 2 : bytes;
    }
    log = hold();
    done = at < 0 ? raw_write(fd, data, bytes) : real_pwrite64(fd, data, bytes, at);
    if (done > 0)
        note(log, WRITE, &file, at < 0 ? lseek(fd, 0, SEEK_CUR) - done : at, name, NULL, data, (size_t)done);
    release(log);
    return done;
}

ssize_t write(int fd, const void *data, size_t bytes) { return written(fd, data, bytes, -1); }
ssize_t pwrite(int fd, const void *data, size_t bytes, off_t at) { return written(fd, data, bytes, at); }
ssize_t pwrite64(int fd, const void *data, size_t bytes, off_t at) { return written(fd, data, bytes, at); }
ssize_t writev(int fd, const struct iovec *parts, int count) {
    char name[PATH_MAX];
    ssize_t sum = 0;
    REAL(ssize_t, writev, int, const struct iovec *, int);
    if (!name_of(fd, name))
        return real_writev(fd, parts, count);
    for (int part = 0; part < count; part++) {
        ssize_t done = parts[part].iov_len ? written(fd, parts[part].iov_base, parts[part].iov_len, -1) : 0;
        if (done < 0)
            return sum ? sum : -1;
        sum += done;
        if ((size_t)done < parts[part].iov_len)
            break;
    }
    return sum;
}

static int cut(int fd, off_t length) {
    char name[PATH_MAX];
    struct stat file;
    int log, done;
    REAL(int, ftruncate64, int, off_t);
    if (!name_of(fd, name) || fstat(fd, &file) != 0)
        return real_ftruncate64(fd, length);
    if (fails("truncate", name))
        return -1;
    log = hold();
    done = real_ftruncate64(fd, length);
    if (done == 0)
        note(log, TRUNCATE, &file, length, name, NULL, NULL, 0);
    release(log);
    return done;
}

int ftruncate(int fd, off_t length) { return cut(fd, length); }
int ftruncate64(int fd, off_t length) { return cut(fd, length); }

static int synced(int fd, int data_only) {
    char name[PATH_MAX];
    struct stat file;
    int log, done;
    REAL(int, fsync, int);
    REAL(int, fdatasync, int);
    if (!name_of(fd, name) || fstat(fd, &file) != 0)
        return data_only ? real_fdatasync(fd) : real_fsync(fd);
    if (fails("sync", name))
        return -1;
    /* The log is what is judged: nothing of the test needs the disk. */
    log = hold();
    done = log_name ? 0 : data_only ? real_fdatasync(fd) : real_fsync(fd);
    if (done == 0)
        note(log, data_only ? SYNC_DATA : SYNC, &file, 0, name, NULL, NULL, 0);
    release(log);
    return done;
}

int fsync(int fd) { return synced(fd, 0); }
int fdatasync(int fd) { return synced(fd, 1); }

static int renamed(int from, const char *old, int to, const char *new, unsigned flags) {
    char first[PATH_MAX], second[PATH_MAX];
    struct stat file;
    int log, done;
    REAL(int, renameat2, int, const char *, int, const char *, unsigned);
    absolute(from, old, first);
    absolute(to, new, second);
    if (!ours(first) && !ours(second))
        return real_renameat2(from, old, to, new, flags);
    if (fails("rename", second))
        return -1;
    log = hold();
    if (lstat(first, &file) != 0)
        file.st_ino = 0;
    done = real_renameat2(from, old, to, new, flags);
    if (done == 0)
        note(log, RENAME, &file, 0, first, second, NULL, 0);
    release(log);
    return done;
}

int rename(const char *old, const char *new) { return renamed(AT_FDCWD, old, AT_FDCWD, new, 0); }
int renameat(int from, const char *old, int to, const char *new) { return renamed(from, old, to, new, 0); }
int renameat2(int from, const char *old, int to, const char *new, unsigned flags) {
    return renamed(from, old, to, new, flags);
}

static int linked(int from, const char *old, int to, const char *new, int flags) {
    char first[PATH_MAX], second[PATH_MAX];
    struct stat file;
    int log, done;
    REAL(int, linkat, int, const char *, int, const char *, int);
    absolute(from, old, first);
    absolute(to, new, second);
    if (!ours(second))
        return real_linkat(from, old, to, new, flags);
    if (fails("link", second))
        return -1;
    log = hold();
    done = real_linkat(from, old, to, new, flags);
    if (done == 0 && lstat(second, &file) == 0)
        note(log, LINK, &file, 0, first, second, NULL, 0);
    release(log);
    return done;
}

int link(const char *old, const char *new) { return linked(AT_FDCWD, old, AT_FDCWD, new, 0); }
int linkat(int from, const char *old, int to, const char *new, int flags) { return linked(from, old, to, new, flags); }

static int removed(int directory, const char *path, int flags) {
    char name[PATH_MAX];
    struct stat file = {0};
    int log, done;
    REAL(int, unlinkat, int, const char *, int);
    if (!root || !ours(absolute(directory, path, name)))
        return real_unlinkat(directory, path, flags);
    if (fails("unlink", name))
        return -1;
    log = hold();
    lstat(name, &file);
    done = real_unlinkat(directory, path, flags);
    if (done == 0)
        note(log, flags & AT_REMOVEDIR ? RMDIR : UNLINK, &file, 0, name, NULL, NULL, 0);
    release(log);
    return done;
}

int unlink(const char *path) { return removed(AT_FDCWD, path, 0); }
int rmdir(const char *path) { return removed(AT_FDCWD, path, AT_REMOVEDIR); }
int unlinkat(int directory, const char *path, int flags) { return removed(directory, path, flags); }

static int made(int directory, const char *path, mode_t mode) {
    char name[PATH_MAX];
    struct stat file = {0};
    int log, done;
    REAL(int, mkdirat, int, const char *, mode_t);
    if (!root || !ours(absolute(directory, path, name)))
        return real_mkdirat(directory, path, mode);
    if (fails("mkdir", name))
        return -1;
    log = hold();
    done = real_mkdirat(directory, path, mode);
    if (done == 0) {
        lstat(name, &file);
        note(log, MKDIR, &file, 0, name, NULL, NULL, 0);
    }
    release(log);
    return done;
}

int mkdir(const char *path, mode_t mode) { return made(AT_FDCWD, path, mode); }
int mkdirat(int directory, const char *path, mode_t mode) { return made(directory, path, mode); }

ssize_t read(int fd, void *into, size_t bytes) {
    char name[PATH_MAX];
    REAL(ssize_t, read, int, void *, size_t);
    if (fault_kind[0] && name_of(fd, name) && fails("read", name))
        return -1;
    return real_read(fd, into, bytes);
}

ssize_t pread(int fd, void *into, size_t bytes, off_t at) {
    char name[PATH_MAX];
    REAL(ssize_t, pread, int, void *, size_t, off_t);
    if (fault_kind[0] && name_of(fd, name) && fails("read", name))
        return -1;
    return real_pread(fd, into, bytes, at);
}
ssize_t pread64(int fd, void *into, size_t bytes, off_t at) { return pread(fd, into, bytes, at); }

/* ------------------------------------------------------------------------------------------------ clock */

static int64_t shift_ns(void) {
    char text[32];
    int before = errno, fd;
    ssize_t length;
    REAL(ssize_t, read, int, void *, size_t);
    if (!clock_name || (fd = raw_open(clock_name, O_RDONLY | O_CLOEXEC, 0)) < 0) {
        errno = before;
        return 0;
    }
    length = real_read(fd, text, sizeof text - 1);
    close(fd);
    errno = before;
    text[length > 0 ? length : 0] = 0;
    return strtoll(text, NULL, 10);
}

int clock_gettime(clockid_t clock, struct timespec *now) {
    REAL(int, clock_gettime, clockid_t, struct timespec *);
    int done = real_clock_gettime(clock, now);
    if (done == 0 && clock_name && (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE)) {
        int64_t ns = now->tv_sec * INT64_C(1000000000) + now->tv_nsec + shift_ns();
        now->tv_sec = ns / 1000000000;
        now->tv_nsec = ns % 1000000000;
    }
    return done;
}
