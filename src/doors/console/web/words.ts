// SPDX-License-Identifier: Apache-2.0
// How figures, times and names are said.

export function bytes(count: number): string {
  const units = ['B', 'kB', 'MB', 'GB', 'TB']
  let value = count
  let unit = 0
  while (value >= 1000 && unit < units.length - 1) {
    value /= 1000
    unit++
  }
  return `${unit === 0 || value >= 100 ? Math.round(value) : value.toFixed(1)} ${units[unit]}`
}

export function span(ms: number): string {
  const s = Math.max(0, Math.round(ms / 1000))
  if (s < 60) return `${s} s`
  if (s < 3600) return `${Math.floor(s / 60)} min`
  if (s < 86_400) return `${Math.floor(s / 3600)} h ${Math.floor((s % 3600) / 60)} min`
  return `${Math.floor(s / 86_400)} d ${Math.floor((s % 86_400) / 3600)} h`
}

export function duration(ms: number): string {
  if (ms < 1) return '<1 ms'
  if (ms < 1000) return `${Math.round(ms)} ms`
  return ms < 60_000 ? `${(ms / 1000).toFixed(1)} s` : span(ms)
}

export const age = (time: string): string => span(Date.now() - Date.parse(time))
export const left = (time: string | null): string => (time === null ? 'no limit' : span(Date.parse(time) - Date.now()))
export const clock = (time: string): string => new Date(time).toLocaleTimeString([], { hour12: false })
export const short = (id: string): string => id.slice(0, 8)
export const problem = (error: unknown): string => (error instanceof Error ? error.message : String(error))

/** A name of a file as a shell takes it. */
export const quoted = (text: string): string => (/^[\w./-]+$/.test(text) ? text : `'${text.replace(/'/g, `'\\''`)}'`)

/** Names hold anything: what cannot be seen is shown as what it is. */
export const visible = (name: string): string =>
  name.replace(/[\u0000-\u001f\u007f-\u009f\u200b-\u200f\u202a-\u202e\u2066-\u2069]/g, (c) => `\\u${c.charCodeAt(0).toString(16).padStart(4, '0')}`)
