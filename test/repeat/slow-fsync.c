/* A disk that is slow to promise: fsync and fdatasync take DELAY_US longer. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <unistd.h>

int fsync(int file) {
  int (*real)(int) = dlsym(RTLD_NEXT, "fsync");
  usleep(DELAY_US);
  return real(file);
}

int fdatasync(int file) {
  int (*real)(int) = dlsym(RTLD_NEXT, "fdatasync");
  usleep(DELAY_US);
  return real(file);
}
