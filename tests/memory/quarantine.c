/* A free() that makes uses of freed memory show, for `scripts/test-memory`.
 *
 * MLIR's Python handles hold plain pointers: reading one whose operation was erased works most of
 * the time, as the memory still holds what it held. Here freed memory is filled with a pattern and
 * kept back until QUARANTINE bytes are waiting, so that such a read meets an address no program has
 * (a segmentation fault at the line that reads), and a write is found when the memory's turn comes.
 *
 * Blocks above LARGE go back at once: they are arrays of data, not operations.
 */
#include <malloc.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { PATTERN = 0xDB, SLOTS = 1 << 20, LARGE = 1 << 16, QUARANTINE = 300 << 20, BATCH = 8 };

extern void __libc_free(void *memory);

static void *waiting[SLOTS];
static size_t head, tail, held;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void check(const unsigned char *memory) {
  static const char message[] = "quarantine: freed memory was written to\n";
  const size_t size = malloc_usable_size((void *)memory);
  for (size_t k = 0; k < size; ++k) {
    if (memory[k] == PATTERN)
      continue;
    if (write(STDERR_FILENO, message, sizeof message - 1) < 0)
      _exit(1);
    abort();
  }
}

void free(void *memory) {
  void *released[BATCH];
  int count = 0;
  if (!memory)
    return;
  const size_t size = malloc_usable_size(memory);
  if (size > LARGE) {
    __libc_free(memory);
    return;
  }
  memset(memory, PATTERN, size);
  pthread_mutex_lock(&lock);
  waiting[head++ % SLOTS] = memory;
  held += size;
  while ((held > QUARANTINE || head - tail >= SLOTS - 1) && count < BATCH) {
    released[count] = waiting[tail++ % SLOTS];
    held -= malloc_usable_size(released[count++]);
  }
  pthread_mutex_unlock(&lock);
  for (int k = 0; k < count; ++k) {
    check(released[k]);
    __libc_free(released[k]);
  }
}
