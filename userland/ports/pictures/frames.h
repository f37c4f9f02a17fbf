// What Pillow's half (userland/python/lib/_cloche/pictures) and this program say to each other, over standard input and output.
// Numbers are of 32 bits and little endian. A frame is its length and so many bytes; a stream of bytes is frames up to one of length 0.
#ifndef FRAMES_H
#define FRAMES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// How work ends, in the numbers of Pillow's ImageFile.ERRORS.
enum { ENDED_WELL = 0, ENDED_BROKEN = -2, ENDED_UNKNOWN = -3, ENDED_CONFIG = -8, ENDED_MEMORY = -9 };

struct bytes {
  uint8_t *data;
  size_t length, room;
};

// Each ends the process where the other side has gone away, and where there is no memory.
bool read_number(int32_t *number);  // false: the other side has closed at a frame's border
int32_t need_number(void);
void read_exactly(void *into, size_t length);
bool read_frame(struct bytes *into);  // false as above; `into` is used again by the next call
void need_frame(struct bytes *into);
void read_to_end(void);  // what nobody wants: the other side writes all of its request before it reads
uint8_t *room_for(struct bytes *of, size_t length);  // behind what is there
void append(struct bytes *to, const void *data, size_t length);

void write_number(int32_t number);
void write_bytes(const void *data, size_t length);
void write_frame(const void *data, size_t length);
void flush(void);

void *need_memory(size_t bytes);

#endif
