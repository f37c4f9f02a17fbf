// SPDX-License-Identifier: Apache-2.0
// Bytes as base64, in Node, browsers, Bun and Deno.

interface NodeBuffer {
  byteLength(text: string): number
  from(data: string, encoding: string): Uint8Array
  from(data: ArrayBufferLike, offset: number, length: number): { toString(encoding: string): string }
}
const buffer = (globalThis as { Buffer?: NodeBuffer }).Buffer
const piece = 0x8000

export function toBase64(data: Uint8Array): string {
  if (buffer) return buffer.from(data.buffer, data.byteOffset, data.length).toString('base64')
  let text = ''
  for (let at = 0; at < data.length; at += piece) text += String.fromCharCode(...data.subarray(at, at + piece))
  return btoa(text)
}

export function fromBase64(text: string): Uint8Array {
  if (buffer) return new Uint8Array(buffer.from(text, 'base64'))
  const plain = atob(text)
  const data = new Uint8Array(plain.length)
  for (let at = 0; at < plain.length; at++) data[at] = plain.charCodeAt(at)
  return data
}

export const toBytes = (data: string | Uint8Array): Uint8Array =>
  typeof data === 'string' ? new TextEncoder().encode(data) : data
/** How many bytes text has. */
export const sizeOf = (text: string): number =>
  buffer ? buffer.byteLength(text) : new TextEncoder().encode(text).length
export const toText = (data: Uint8Array): string => new TextDecoder().decode(data)
