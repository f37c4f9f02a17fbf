// SPDX-License-Identifier: Apache-2.0
// What all views are made of.
import type { ComponentChildren } from 'preact'
import { useEffect, useRef, useState } from 'preact/hooks'
import { server, type State } from './connection.js'
import { problem } from './words.js'

const paths = {
  add: 'M8 3v10M3 8h10',
  back: 'M10 3 5 8l5 5',
  close: 'M4 4l8 8M12 4l-8 8',
  copy: 'M6 6h7v7H6zM10 6V3H3v7h3',
  download: 'M8 2v8M4.5 7 8 10.5 11.5 7M3 13.5h10',
  file: 'M4 2h5l3 3v9H4zM9 2v3h3',
  folder: 'M2 4h4.5L8 5.5h6V13H2z',
  fork: 'M4 2.5v11M4 8h4a4 4 0 0 0 4-4v-.5M2.5 2.5h3M10.5 2.5h3',
  pause: 'M5.5 3v10M10.5 3v10',
  play: 'M5 3l8 5-8 5z',
  search: 'M7 11.5a4.5 4.5 0 1 0 0-9 4.5 4.5 0 0 0 0 9zM10.5 10.5 14 14',
  stop: 'M4 4h8v8H4z',
  trash: 'M3 4.5h10M6 4.5V3h4v1.5M4.5 4.5 5 13h6l.5-8.5',
  upload: 'M8 10.5v-8M4.5 6 8 2.5 11.5 6M3 13.5h10',
}
export type IconName = keyof typeof paths

export const Icon = ({ name }: { name: IconName }) => (
  <svg class="icon" viewBox="0 0 16 16" aria-hidden="true">
    <path d={paths[name]} />
  </svg>
)

export function Button(props: {
  onClick: () => void
  icon?: IconName
  label?: string
  kind?: 'primary' | 'danger' | 'quiet'
  disabled?: boolean
  children?: ComponentChildren
}) {
  return (
    <button type="button" class={`button ${props.kind ?? ''} ${props.children ? '' : 'bare'}`} onClick={props.onClick}
      disabled={props.disabled} aria-label={props.label} title={props.label}>
      {props.icon && <Icon name={props.icon} />}
      {props.children && <span>{props.children}</span>}
    </button>
  )
}

export const Pill = ({ status }: { status: string }) => <span class={`pill ${status}`}>{status}</span>

export const Empty = ({ title, children }: { title: string; children?: ComponentChildren }) => (
  <div class="empty">
    <svg class="mark" viewBox="0 0 48 48" aria-hidden="true">
      <path d="M24 8v4M10 36V26a14 14 0 0 1 28 0v10M6 36h36" />
    </svg>
    <h2>{title}</h2>
    {children && <p>{children}</p>}
  </div>
)

export const Trouble = ({ error }: { error: unknown }) => (error ? <p class="trouble" role="alert">{problem(error)}</p> : null)

export function Tabs<T extends string>({ tabs, chosen, choose, label }: { tabs: Record<T, string>; chosen: T; choose: (tab: T) => void; label: string }) {
  const names = Object.keys(tabs) as T[]
  const move = (event: KeyboardEvent) => {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key]
    if (!step) return
    event.preventDefault()
    const next = names[(names.indexOf(chosen) + step + names.length) % names.length]!
    choose(next)
    document.getElementById(`tab-${next}`)?.focus()
  }
  return (
    <div class="tabs" role="tablist" aria-label={label} onKeyDown={move}>
      {names.map((name) => (
        <button key={name} id={`tab-${name}`} role="tab" type="button" aria-selected={name === chosen}
          tabIndex={name === chosen ? 0 : -1} onClick={() => choose(name)}>{tabs[name]}</button>
      ))}
    </div>
  )
}

/** A line over time, the newest at the right. */
export function Line({ values, max, label, text }: { values: number[]; max?: number; label: string; text: string }) {
  const top = Math.max(max ?? 0, ...values, 1e-9)
  const width = 300
  const height = 64
  const at = (value: number, index: number) =>
    `${(index / Math.max(values.length - 1, 1)) * width},${height - 2 - (value / top) * (height - 6)}`
  const points = values.map(at).join(' ')
  return (
    <figure class="line">
      <figcaption><span>{label}</span><strong>{text}</strong></figcaption>
      <svg viewBox={`0 0 ${width} ${height}`} preserveAspectRatio="none" role="img" aria-label={`${label}: ${text}`}>
        {values.length > 1 && <polygon points={`0,${height} ${points} ${width},${height}`} />}
        {values.length > 1 && <polyline points={points} />}
      </svg>
    </figure>
  )
}

export function useConnection(): State {
  const [state, setState] = useState(server.state)
  useEffect(() => server.watch(setState), [])
  return state
}

/** Renders again and again, for ages and times left. */
export function useClock(intervalMs = 1000): void {
  const [, tick] = useState(0)
  useEffect(() => {
    const timer = setInterval(() => tick((n) => n + 1), intervalMs)
    return () => clearInterval(timer)
  }, [intervalMs])
}

export function useSize<T extends HTMLElement>(): [preact.RefObject<T | null>, { width: number; height: number }] {
  const ref = useRef<T>(null)
  const [size, setSize] = useState({ width: 0, height: 0 })
  useEffect(() => {
    if (!ref.current) return
    const observer = new ResizeObserver(([entry]) => entry && setSize({ width: entry.contentRect.width, height: entry.contentRect.height }))
    observer.observe(ref.current)
    return () => observer.disconnect()
  }, [])
  return [ref, size]
}

export function save(name: string, data: BlobPart, type = 'application/octet-stream'): void {
  const link = document.createElement('a')
  link.href = URL.createObjectURL(new Blob([data], { type }))
  link.download = name.replace(/[\u0000-\u001f/\\]/g, '_') || 'file'
  link.click()
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000)
}

// --- what is said for a moment ------------------------------------------------------------------

export interface Notice {
  text: string
  undo?: () => void
}
let tell: (notice: Notice | undefined) => void = () => undefined
let timer: ReturnType<typeof setTimeout> | undefined

export function say(notice: Notice, forMs = 5000): void {
  clearTimeout(timer)
  tell(notice)
  timer = setTimeout(() => tell(undefined), forMs)
}

export function Notices() {
  const [notice, setNotice] = useState<Notice>()
  tell = setNotice
  return (
    <div class="notices" role="status" aria-live="polite">
      {notice && (
        <div class="notice">
          <span>{notice.text}</span>
          {notice.undo && <button type="button" onClick={() => { notice.undo?.(); setNotice(undefined) }}>Undo</button>}
        </div>
      )}
    </div>
  )
}
