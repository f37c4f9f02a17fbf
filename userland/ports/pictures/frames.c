#include "frames.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

// A frame is made of what Pillow holds in memory itself, so a length beyond that is none.
#define LONGEST (1u << 30)

static uint8_t waiting[1 << 16];
static size_t waiting_length;

static void give_up(void)
{
  _exit(1);
}

void *need_memory(size_t bytes)
{
  void *memory = malloc(bytes ? bytes : 1);
  if (!memory) give_up();
  return memory;
}

// The number of bytes read: fewer than `length` at the end of the input only.
static size_t read_some(uint8_t *into, size_t length)
{
  size_t done = 0;
  while (done < length) {
    ssize_t got = read(STDIN_FILENO, into + done, length - done);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) give_up();
    if (got == 0) break;
    done += got;
  }
  return done;
}

void read_exactly(void *into, size_t length)
{
  if (read_some(into, length) != length) give_up();
}

bool read_number(int32_t *number)
{
  size_t got = read_some((uint8_t *)number, sizeof *number);
  if (got && got != sizeof *number) give_up();
  return got != 0;
}

int32_t need_number(void)
{
  int32_t number;
  read_exactly(&number, sizeof number);
  return number;
}

void read_to_end(void)
{
  static uint8_t unwanted[1 << 16];
  while (read_some(unwanted, sizeof unwanted) == sizeof unwanted) {}
}

static void make_room(struct bytes *of, size_t length)
{
  if (length > LONGEST) give_up();
  if (length <= of->room) return;
  size_t room = of->room * 2 > length ? of->room * 2 : length;
  uint8_t *data = realloc(of->data, room);
  if (!data) give_up();
  of->data = data;
  of->room = room;
}

bool read_frame(struct bytes *into)
{
  int32_t length;
  if (!read_number(&length)) return false;
  make_room(into, (uint32_t)length);
  read_exactly(into->data, (uint32_t)length);
  into->length = (uint32_t)length;
  return true;
}

void need_frame(struct bytes *into)
{
  if (!read_frame(into)) give_up();
}

uint8_t *room_for(struct bytes *of, size_t length)
{
  if (length > LONGEST - of->length) give_up();
  make_room(of, of->length + length);
  return of->data + of->length;
}

void append(struct bytes *to, const void *data, size_t length)
{
  uint8_t *room = room_for(to, length);
  if (length) memcpy(room, data, length);
  to->length += length;
}

static void write_out(const uint8_t *data, size_t length)
{
  while (length) {
    ssize_t put = write(STDOUT_FILENO, data, length);
    if (put < 0 && errno == EINTR) continue;
    if (put < 0) give_up();
    data += put;
    length -= put;
  }
}

void flush(void)
{
  write_out(waiting, waiting_length);
  waiting_length = 0;
}

void write_bytes(const void *data, size_t length)
{
  if (length > sizeof waiting - waiting_length) flush();
  if (length > sizeof waiting) {
    write_out(data, length);
  } else {
    memcpy(waiting + waiting_length, data, length);
    waiting_length += length;
  }
}

void write_number(int32_t number)
{
  write_bytes(&number, sizeof number);
}

void write_frame(const void *data, size_t length)
{
  write_number(length);
  write_bytes(data, length);
}
