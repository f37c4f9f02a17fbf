// The works of this program, one a file: each reads its request from standard input, and answers on standard output.
#ifndef WORKS_H
#define WORKS_H

// What a file is decoded from in pieces, as Pillow reads it.
//   request   rawmode, jpegmode as frames; scale, draft, width, height; then frames of the file's bytes
//   answer    to each frame of bytes: rows as a stream, the number of bytes used (-1: the picture is whole), how it ended
void decode_jpeg(void);

//   request   width, height, components, colours; quality, progressive, smooth, optimize, keep_rgb, streamtype, xdpi, ydpi, subsampling,
//             restart blocks, restart rows; tables of 64 16-bit numbers, comment, extra and Exif as frames; rows
//   answer    how it ended, the file as a frame
void encode_jpeg(void);

// A face, and any number of questions about it.
//   request   path (empty: none), the file's content, index, size in 1/64 pixels, encoding, instance (-1: none), axes as frames and numbers
//   answer    an error's text (empty: none), and a frame of what put_face puts
// then for each question, the number of a letter:
//   c  characters as a frame, whether without gray                 -> for each its glyph, advance, box
//   k  fresh glyphs, 0, known glyphs                               -> left, right, x, y of each pair that moves
//   b  glyphs, whether without gray, width of a stroke, filled     -> for each left, top of the plain one; left, top, width, rows, the bitmap
void ask_font(void);

//   request   the first frame wanted (-1: none, but what the file is), most bytes of pixels; the file as a frame
//   answer    1, width, height, loops, background, frames, whether it has alpha; ICC, Exif, XMP, each 1 and a frame, or 0
//             or for each frame 1, its end in ms, pixels of 4 bytes as a frame; then 0, or -1 where one is broken
void decode_webp(void);

//   request   width, height, channels, lossless, method, exact; quality, alpha's quality as floats; ICC, Exif, XMP as frames; rows
//   answer    an error's text (empty: none), the file, as frames
void encode_webp(void);

//   request   width, height, background, loops, minimize, kmin, kmax, mixed; then letters with
//             f  begin in ms, lossless, method, channels; quality, alpha's quality; rows
//             e  the last one's end in ms
//             a  ICC, Exif, XMP as frames: the last request
//   answer    to the head and to each letter as above
void animate_webp(void);

//   request   the directory's offset, width, height, bits of a pixel; the file as a frame
//   answer    2, number of planes (0: the samples lie together), bits of a sample, whether colours are premultiplied; then for each block 1,
//             plane, x, y, width, rows, what is in it as a frame; then 0, how it ended. Where all is broken only the end
void decode_tiff(void);

//   request   rows, bytes of a row, number of tags; for each tag its number, type, shape (a letter, see set_field), whether it has several
//             values, whether libtiff must be told of it, its value as a frame; then rows
//   answer    how it ended (ENDED_CONFIG: a tag cannot be set), the file as a frame
void encode_tiff(void);

//   request   format as a frame; reduce, layers, most pixels, bits of a sample (8 or 16); the file as a frame
//   answer    how it ended; and if well width, height, components, whether they are YCbCr; then rows, samples side by side
void decode_jpeg2000(void);

//   request   format as a frame; the numbers of struct settings; layers as a frame of floats, comment as a frame; rows
//   answer    how it ended, the file as a frame
void encode_jpeg2000(void);

//   request   the first frame wanted (-1: none, but what the file is), most bytes of pixels; the file as a frame
//   answer    0, width, height, frames, channels, Exif's orientation; ICC, Exif, XMP as frames
//             or for each frame 0, units of a second, begin, duration in them as numbers of 64 bits, pixels as a frame
//             where something is broken libavif's result and its text as a frame end the answer
void decode_avif(void);

//   request   width, height, subsampling (0: gray, 1: 4:2:0, 2: 4:2:2, 3: 4:4:4), full range, premultiplied, orientation; ICC, Exif, XMP as
//             frames; quality, speed, whether it chooses tiles, tiles' rows, columns; number of options, name and value of each as frames
//             then letters with
//             f  duration in ms, channels, whether it is the only one; rows
//             e  the last request
//   answer    to the head and each letter libavif's result; where that is not 0 a text as a frame; to the last one the file as a frame
void encode_avif(void);

#endif
