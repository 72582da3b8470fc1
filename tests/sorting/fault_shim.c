/* Makes file calls fail, wait or dawdle on purpose; preloaded into a process that sorts.
 *
 * FAULT_UNNAMED  if it is there, the file system has no files without a name
 * FAULT_CALL   the call to disturb: pread, pwrite, fallocate, ftruncate, fsync, rename, dlopen (of LZ4 only), or input:
 *              read and pread of files whose paths end with FAULT_FILE
 * FAULT_NTH    the first call to disturb, counted from 1
 * FAULT_KIND   short (half of what was asked), eintr (every second call from then on), slow (a tenth of a second more
 *              from then on), damage (a byte of what is read from a file without a name), kill (the process), stop (the process, until someone continues it, and slow from then on), or an errno's number
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <unistd.h>

static atomic_long calls;

enum verdict { PASS, SHORT, DAMAGE, FAIL };

static enum verdict judge(const char* call) {
  const char* wanted = getenv("FAULT_CALL");
  const char* kind = getenv("FAULT_KIND");
  if (wanted == NULL || kind == NULL || strcmp(wanted, call) != 0) return PASS;
  const long nth = atol(getenv("FAULT_NTH"));
  const long now = atomic_fetch_add(&calls, 1) + 1;
  if (now < nth) return PASS;
  if (strcmp(kind, "short") == 0) return SHORT;
  if (strcmp(kind, "eintr") == 0) {
    if (now % 2 == 0) return PASS;
    errno = EINTR;
    return FAIL;
  }
  if (strcmp(kind, "kill") == 0) kill(getpid(), SIGKILL);
  if (strcmp(kind, "stop") == 0 && now == nth) {
    kill(getpid(), SIGSTOP);
    return PASS;
  }
  if (strcmp(kind, "slow") == 0 || strcmp(kind, "stop") == 0) {
    usleep(100 * 1000);
    return PASS;
  }
  if (strcmp(kind, "damage") == 0) return DAMAGE;
  if (now > nth) return PASS;
  errno = atoi(kind);
  return FAIL;
}

#define REAL(name) __typeof__(&name) real = (__typeof__(&name))dlsym(RTLD_NEXT, #name)

int open(const char* path, int flags, ...);
ssize_t pread(int fd, void* to, size_t bytes, off_t offset);
ssize_t pwrite(int fd, const void* from, size_t bytes, off_t offset);
ssize_t read(int fd, void* to, size_t bytes);
int fallocate(int fd, int mode, off_t offset, off_t bytes);
int ftruncate(int fd, off_t bytes);
int fsync(int fd);

int open(const char* path, int flags, ...) {
  REAL(open);
  va_list more;
  va_start(more, flags);
  const mode_t mode = va_arg(more, mode_t);
  va_end(more);
  if (getenv("FAULT_UNNAMED") != NULL && (flags & O_TMPFILE) == O_TMPFILE) {
    errno = EOPNOTSUPP;
    return -1;
  }
  return real(path, flags, mode);
}

static size_t shortened(size_t bytes) { return bytes > 1 ? bytes / 2 + 1 : bytes; }

static int is_disturbed_file(int fd) {
  const char* wanted = getenv("FAULT_FILE");
  char link[64], path[4096];
  if (wanted == NULL) return 0;
  snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
  const ssize_t length = readlink(link, path, sizeof path);
  const ssize_t end = (ssize_t)strlen(wanted);
  return length >= end && memcmp(path + length - end, wanted, (size_t)end) == 0;
}

ssize_t read(int fd, void* to, size_t bytes) {
  REAL(read);
  return is_disturbed_file(fd) && judge("input") == FAIL ? -1 : real(fd, to, bytes);
}

ssize_t pread(int fd, void* to, size_t bytes, off_t offset) {
  REAL(pread);
  if (is_disturbed_file(fd) && judge("input") == FAIL) return -1;
  const enum verdict verdict = judge("pread");
  if (verdict == FAIL) return -1;
  const ssize_t got = real(fd, to, verdict == SHORT ? shortened(bytes) : bytes, offset);
  struct stat about;
  if (verdict == DAMAGE && got > 0 && fstat(fd, &about) == 0 && about.st_nlink == 0) ((char*)to)[got / 3] ^= 1;
  return got;
}

void* dlopen(const char* name, int flags) {
  REAL(dlopen);
  return name != NULL && strstr(name, "liblz4") != NULL && judge("dlopen") == FAIL ? NULL : real(name, flags);
}

ssize_t pwrite(int fd, const void* from, size_t bytes, off_t offset) {
  REAL(pwrite);
  const enum verdict verdict = judge("pwrite");
  return verdict == FAIL ? -1 : real(fd, from, verdict == SHORT ? shortened(bytes) : bytes, offset);
}

int fallocate(int fd, int mode, off_t offset, off_t bytes) {
  REAL(fallocate);
  return judge("fallocate") == FAIL ? -1 : real(fd, mode, offset, bytes);
}

int ftruncate(int fd, off_t bytes) {
  REAL(ftruncate);
  return judge("ftruncate") == FAIL ? -1 : real(fd, bytes);
}

int fsync(int fd) {
  REAL(fsync);
  return judge("fsync") == FAIL ? -1 : real(fd);
}

int rename(const char* from, const char* to) {
  REAL(rename);
  return judge("rename") == FAIL ? -1 : real(from, to);
}
