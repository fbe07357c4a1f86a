// What a hostile program tries, one attempt a call, each reported as the kernel's answer: `ok` or the name of an errno.
// `probe NAME [ARGUMENT ...]` makes one attempt; `probe each NAME [ARGUMENT ...] , NAME ...` one after the other, a line each.
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/if_packet.h>
#include <netinet/in.h>
#include <sched.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/time.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

extern char **environ;

static const char *word(long result) { return result < 0 ? strerrorname_np(errno) : "ok"; }
static void say(long result) { printf("%s\n", word(result)); }
static const char *arg(char **args, int index) {
  for (int i = 0; i <= index; i++) if (!args[i]) { fprintf(stderr, "probe: argument missing\n"); exit(99); }
  return args[index];
}
static double now(void) { struct timespec t; clock_gettime(CLOCK_MONOTONIC, &t); return t.tv_sec + t.tv_nsec / 1e9; }

static void write_file(char **a) { say(open(arg(a, 0), O_WRONLY | O_CREAT, 0600)); }
static void read_file(char **a) { say(open(arg(a, 0), O_RDONLY)); }
static void make_directory(char **a) { say(mkdir(arg(a, 0), 0700)); }
static void make_device(char **a) { say(mknod(arg(a, 0), S_IFBLK | 0600, makedev(8, 0))); }
static void change_mode(char **a) { say(chmod(arg(a, 0), 0777)); }
static void change_root(char **a) { say(chroot(arg(a, 0))); }

static void fill(char **a) {
  static char block[65536];
  int fd = open(arg(a, 0), O_WRONLY | O_CREAT, 0600);
  long left = atol(arg(a, 1)), done = 0, wrote = 1;
  memset(block, 'x', sizeof block);
  while (left > 0 && (wrote = write(fd, block, left < (long)sizeof block ? left : (long)sizeof block)) > 0) { done += wrote; left -= wrote; }
  printf("%ld %s\n", done, word(wrote));
}

static void inodes(char **a) {
  long count = 0, most = atol(arg(a, 1)), made = 0;
  char name[256];
  while (count < most && (snprintf(name, sizeof name, "%s/i%ld", arg(a, 0), count), made = open(name, O_CREAT | O_WRONLY, 0600)) >= 0) { close(made); count++; }
  printf("%ld %s\n", count, word(made));
}

static void connect_inet(char **a) {
  struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons(atoi(arg(a, 1)))};
  inet_pton(AF_INET, arg(a, 0), &to.sin_addr);
  int fd = socket(AF_INET, strcmp(a[2] ? a[2] : "", "udp") ? SOCK_STREAM : SOCK_DGRAM, 0);
  say(fd < 0 ? fd : connect(fd, (struct sockaddr *)&to, sizeof to));
}
static void connect_inet6(char **a) {
  struct sockaddr_in6 to = {.sin6_family = AF_INET6, .sin6_port = htons(atoi(arg(a, 1)))};
  inet_pton(AF_INET6, arg(a, 0), &to.sin6_addr);
  int fd = socket(AF_INET6, SOCK_STREAM, 0);
  say(fd < 0 ? fd : connect(fd, (struct sockaddr *)&to, sizeof to));
}
static void connect_unix(char **a) {
  struct sockaddr_un to = {.sun_family = AF_UNIX};
  strncpy(to.sun_path, arg(a, 0), sizeof to.sun_path - 1);
  socklen_t length = offsetof(struct sockaddr_un, sun_path) + strlen(to.sun_path);
  if (to.sun_path[0] == '@') to.sun_path[0] = 0;
  int fd = socket(AF_UNIX, SOCK_STREAM, 0);
  say(fd < 0 ? fd : connect(fd, (struct sockaddr *)&to, length));
}
static void raw_socket(char **a) { (void)a; say(socket(AF_INET, SOCK_RAW, IPPROTO_ICMP)); }
static void packet_socket(char **a) { (void)a; say(socket(AF_PACKET, SOCK_RAW, 0)); }
static void any_socket(char **a) { say(socket(atoi(arg(a, 0)), SOCK_DGRAM, a[1] ? atoi(a[1]) : 0)); }

static void mount_tmpfs(char **a) { say(mount("none", arg(a, 0), "tmpfs", 0, 0)); }
static void mount_bind(char **a) { say(mount(arg(a, 0), arg(a, 1), 0, MS_BIND, 0)); }
static void remount(char **a) { say(mount(0, arg(a, 0), 0, MS_REMOUNT | MS_BIND, 0)); }
static void unmount(char **a) { say(umount2(arg(a, 0), MNT_DETACH)); }
static void unshare_namespaces(char **a) {
  const char *which = arg(a, 0);
  say(unshare(!strcmp(which, "user") ? CLONE_NEWUSER : !strcmp(which, "mount") ? CLONE_NEWNS : !strcmp(which, "net") ? CLONE_NEWNET : CLONE_NEWPID));
}
static void clone_user(char **a) {
  (void)a;
  long pid = syscall(SYS_clone, CLONE_NEWUSER | SIGCHLD, 0, 0, 0, 0);
  if (pid == 0) _exit(0);
  say(pid);
}
static void become_root(char **a) { (void)a; say(setuid(0)); }
static void effective_uid(char **a) { (void)a; printf("%d\n", geteuid()); }
static void run_as(char **a) { execv(arg(a, 0), a); say(-1); }
static void attach(char **a) { say(ptrace(PTRACE_SEIZE, atoi(arg(a, 0)), 0, 0)); }
static void keyring(char **a) { (void)a; say(syscall(SYS_keyctl, 0, -3, 1)); }
static void bpf_program(char **a) { (void)a; char attr[128] = {0}; say(syscall(SYS_bpf, 5, attr, sizeof attr)); }
static void set_clock(char **a) { (void)a; struct timeval t = {1, 0}; say(settimeofday(&t, 0)); }
static void set_host(char **a) { (void)a; say(sethostname("x", 1)); }
static void restart(char **a) { (void)a; say(syscall(SYS_reboot, 0xfee1dead, 672274793, 0, 0)); }
static void load_module(char **a) { (void)a; say(syscall(SYS_init_module, "", 0, "")); }

static void memfd_exec(char **a) {
  (void)a;
  char block[65536], *args[] = {"probe", "uid", 0};
  int from = open("/proc/self/exe", O_RDONLY), to = memfd_create("x", 0);
  for (long got; (got = read(from, block, sizeof block)) > 0;) if (write(to, block, got) != got) exit(98);
  fexecve(to, args, environ);
  say(-1);
}

static void bomb(char **a) {
  long most = atol(arg(a, 0)), count = 0, pid = 0;
  while (count < most && (pid = fork()) >= 0) { if (pid == 0) { pause(); _exit(0); } count++; }
  printf("%ld %s\n", count, word(pid));
}
static void descriptors(char **a) {
  long most = atol(arg(a, 0)), count = 0, fd = 0;
  while (count < most && (fd = dup(0)) >= 0) count++;
  printf("%ld %s\n", count, word(fd));
}
static void allocate(char **a) {
  long bytes = atol(arg(a, 0));
  char *place = mmap(0, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (place == MAP_FAILED) { say(-1); return; }
  for (long i = 0; i < bytes; i += 4096) place[i] = 1;
  printf("ok\n");
}
// Burns on ARG1 processors for ARG0 seconds of wall time: seconds of CPU that it got, and of wall time that it took.
static void burn(char **a) {
  double seconds = atof(arg(a, 0)), from = now();
  for (int i = atoi(arg(a, 1)); i > 0; i--) if (fork() == 0) { while (now() - from < seconds) {} _exit(0); }
  while (wait(0) > 0) {}
  struct rusage used;
  getrusage(RUSAGE_CHILDREN, &used);
  printf("%.4f %.4f\n", used.ru_utime.tv_sec + used.ru_stime.tv_sec + (used.ru_utime.tv_usec + used.ru_stime.tv_usec) / 1e6, now() - from);
}

static void put(int fd, char letter, long bytes) {
  static char block[65536];
  memset(block, letter, sizeof block);
  for (long wrote; bytes > 0; bytes -= wrote) if ((wrote = write(fd, block, bytes < (long)sizeof block ? bytes : (long)sizeof block)) <= 0) exit(97);
}
static void flood(char **a) { put(1, 'o', atol(arg(a, 0))); }
static void both(char **a) {
  for (long out = atol(arg(a, 0)), err = atol(arg(a, 1)), step = atol(arg(a, 2)); out > 0 || err > 0; out -= step, err -= step) {
    if (out > 0) put(1, 'o', out < step ? out : step);
    if (err > 0) put(2, 'e', err < step ? err : step);
  }
}

static void stubborn(char **a) {
  (void)a;
  for (int i = 1; i < 65; i++) signal(i, SIG_IGN);
  put(1, '+', 1);
  for (;;) pause();
}
// Leaves a session of its own behind that holds both streams, and exits with ARG0.
static void daemonise(char **a) {
  if (fork() == 0) { setsid(); if (fork() == 0) { signal(SIGTERM, SIG_IGN); for (;;) pause(); } _exit(0); }
  wait(0);
  put(1, '+', 1);
  exit(atoi(arg(a, 0)));
}
static void leave(char **a) { exit(atoi(arg(a, 0))); }
static void die(char **a) { signal(atoi(arg(a, 0)), SIG_DFL); raise(atoi(arg(a, 0))); }
static void words(char **a) { for (; *a; a++) { for (const char *c = *a; *c; c++) printf("%02x", (unsigned char)*c); printf("\n"); } }
static void variables(char **a) { (void)a; for (char **e = environ; *e; e++) fwrite(*e, 1, strlen(*e) + 1, stdout); }
static void echo_stdin(char **a) { (void)a; char block[65536]; for (long got; (got = read(0, block, sizeof block)) > 0;) if (write(1, block, got) != got) exit(96); }
static void show(char **a) {
  char block[65536];
  int fd = open(arg(a, 0), O_RDONLY);
  if (fd < 0) { say(-1); return; }
  for (long got; (got = read(fd, block, sizeof block)) > 0;) fwrite(block, 1, got, stdout);
}

static const struct { const char *name; void (*act)(char **); } attempts[] = {
  {"write", write_file}, {"read", read_file}, {"mkdir", make_directory}, {"mknod", make_device}, {"chmod", change_mode},
  {"chroot", change_root}, {"fill", fill}, {"inodes", inodes}, {"connect", connect_inet}, {"connect6", connect_inet6},
  {"connect-unix", connect_unix}, {"socket-raw", raw_socket}, {"socket-packet", packet_socket}, {"socket", any_socket},
  {"mount-tmpfs", mount_tmpfs}, {"mount-bind", mount_bind}, {"remount", remount}, {"umount", unmount}, {"unshare", unshare_namespaces},
  {"clone-user", clone_user}, {"setuid", become_root}, {"uid", effective_uid}, {"exec", run_as}, {"ptrace", attach}, {"keyctl", keyring},
  {"bpf", bpf_program}, {"settime", set_clock}, {"sethostname", set_host}, {"reboot", restart}, {"init-module", load_module},
  {"memfd", memfd_exec}, {"bomb", bomb}, {"descriptors", descriptors}, {"allocate", allocate}, {"burn", burn}, {"flood", flood}, {"both", both},
  {"stubborn", stubborn}, {"daemonise", daemonise}, {"exit", leave}, {"die", die}, {"words", words}, {"variables", variables},
  {"stdin", echo_stdin}, {"show", show},
};

static int attempt(char **args) {
  for (unsigned i = 0; i < sizeof attempts / sizeof *attempts; i++) {
    if (!strcmp(attempts[i].name, args[0])) { attempts[i].act(args + 1); fflush(stdout); return 0; }
  }
  fprintf(stderr, "probe: no attempt %s\n", args[0]);
  return 99;
}

static int each(char **args) {
  while (*args) {
    char **end = args;
    while (*end && strcmp(*end, ",")) end++;
    int more = *end != 0;
    *end = 0;
    for (char **word = args; *word; word++) printf("%s%s", word == args ? "" : " ", *word);
    printf(": ");
    fflush(stdout);
    if (fork() == 0) exit(attempt(args));
    wait(0);
    args = end + more;
  }
  return 0;
}

int main(int count, char **args) {
  if (count < 2) return 99;
  return strcmp(args[1], "each") ? attempt(args + 1) : each(args + 2);
}
