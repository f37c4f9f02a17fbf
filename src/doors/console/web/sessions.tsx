// SPDX-License-Identifier: Apache-2.0
// All sessions: a list that lives, and the tree of forks.
import { useEffect, useMemo, useState } from 'preact/hooks'
import { server, type Session } from './connection.js'
import { Button, Empty, Icon, Pill, say, Trouble, useClock, useSize } from './parts.js'
import { age, bytes, duration, left, problem, short } from './words.js'

const rowHeight = 44
const undoMs = 5000

type Column = 'sessionId' | 'status' | 'door' | 'createdAt' | 'expiresAt' | 'memoryBytes' | 'cpuMs' | 'fileBytes' | 'processes'
const columns: { key: Column; title: string; figure?: boolean }[] = [
  { key: 'sessionId', title: 'Session' },
  { key: 'status', title: 'State' },
  { key: 'door', title: 'Door' },
  { key: 'createdAt', title: 'Age', figure: true },
  { key: 'expiresAt', title: 'Left', figure: true },
  { key: 'memoryBytes', title: 'Memory', figure: true },
  { key: 'cpuMs', title: 'CPU', figure: true },
  { key: 'fileBytes', title: 'Files', figure: true },
  { key: 'processes', title: 'Processes', figure: true },
]

const cell: Record<Column, (one: Session) => preact.ComponentChildren> = {
  sessionId: (one) => <><code>{short(one.sessionId)}</code>{name(one) && <span class="soft">{name(one)}</span>}</>,
  status: (one) => <Pill status={one.status} />,
  door: (one) => one.door || '–',
  createdAt: (one) => age(one.createdAt),
  expiresAt: (one) => left(one.expiresAt),
  memoryBytes: (one) => bytes(one.memoryBytes),
  cpuMs: (one) => duration(one.cpuMs),
  fileBytes: (one) => bytes(one.fileBytes),
  processes: (one) => one.processes,
}

// What whoever made it calls it.
const name = (one: Session): string => {
  const given = one.metadata['name'] ?? one.metadata['title']
  return typeof given === 'string' ? given.slice(0, 80) : ''
}

export const actions = {
  fork: async (id: string) => {
    const { sessions } = await server.call<{ sessions: Session[] }>('session.fork', { sessionId: id })
    say({ text: `Forked: ${short(sessions[0]!.sessionId)}` })
    return sessions[0]!.sessionId
  },
  pause: (id: string) => server.call('session.pause', { sessionId: id }),
  resume: (id: string) => server.call('session.resume', { sessionId: id }),
}

const doomed = new Map<string, ReturnType<typeof setTimeout>>()

/** Deletes it in a moment, unless that is undone. */
export function removeSoon(id: string, changed: () => void): void {
  doomed.set(id, setTimeout(() => {
    doomed.delete(id)
    server.remove(id).catch((error: unknown) => say({ text: problem(error) })).finally(changed)
  }, undoMs))
  changed()
  say({
    text: `Session ${short(id)} is deleted`,
    undo: () => {
      clearTimeout(doomed.get(id))
      doomed.delete(id)
      changed()
    },
  }, undoMs)
}

const go = (id: string) => { location.hash = `#/session/${id}` }

function List({ sessions, changed }: { sessions: Session[]; changed: () => void }) {
  const [sort, setSort] = useState<{ by: Column; down: boolean }>({ by: 'createdAt', down: true })
  const [top, setTop] = useState(0)
  const [box, { height }] = useSize<HTMLDivElement>()
  const sorted = useMemo(() => {
    const order = (a: Session, b: Session) => {
      const [x, y] = [a[sort.by] ?? '', b[sort.by] ?? '']
      return x < y ? -1 : x > y ? 1 : 0
    }
    return [...sessions].sort((a, b) => (sort.down ? order(b, a) : order(a, b)))
  }, [sessions, sort])
  // Only what can be seen is drawn.
  const first = Math.max(0, Math.floor(top / rowHeight) - 4)
  const shown = sorted.slice(first, first + Math.ceil((height || 600) / rowHeight) + 8)
  const act = (work: Promise<unknown>) => void work.then(changed, (error: unknown) => say({ text: problem(error) }))
  const keys = (event: KeyboardEvent, id: string) => {
    const row = event.currentTarget as HTMLElement
    if (event.target !== row) return
    if (event.key === 'Enter') go(id)
    if (event.key === 'Delete') removeSoon(id, changed)
    if (event.key === 'f') act(actions.fork(id))
    const next = event.key === 'ArrowDown' ? row.nextElementSibling : event.key === 'ArrowUp' ? row.previousElementSibling : null
    if (next instanceof HTMLElement && next.tabIndex === 0) {
      event.preventDefault()
      next.focus()
    }
  }
  return (
    <div class="table" role="table" aria-label="Sessions" aria-rowcount={sorted.length + 1}>
      <div class="row head" role="row">
        {columns.map(({ key, title, figure }) => (
          <div key={key} role="columnheader" class={`c-${key} ${figure ? 'figure' : ''}`}
            aria-sort={sort.by !== key ? 'none' : sort.down ? 'descending' : 'ascending'}>
            <button type="button" onClick={() => setSort({ by: key, down: sort.by === key ? !sort.down : Boolean(figure) })}>
              {title}{sort.by === key && <span aria-hidden="true">{sort.down ? ' ↓' : ' ↑'}</span>}
            </button>
          </div>
        ))}
        <div role="columnheader" class="c-actions"><span class="hidden">Actions</span></div>
      </div>
      <div class="rows" ref={box} onScroll={(event) => setTop((event.currentTarget as HTMLElement).scrollTop)}>
        <div style={{ height: `${first * rowHeight}px` }} />
        {shown.map((one) => (
          <div key={one.sessionId} class="row" role="row" tabIndex={0} data-session={one.sessionId}
            onClick={() => go(one.sessionId)} onKeyDown={(event) => keys(event, one.sessionId)}>
            {columns.map(({ key, figure }) => (
              <div key={key} role="cell" class={`c-${key} ${figure ? 'figure' : ''}`}>{cell[key](one)}</div>
            ))}
            <div role="cell" class="c-actions" onClick={(event) => event.stopPropagation()}>
              <Button icon="fork" label="Fork" kind="quiet" onClick={() => act(actions.fork(one.sessionId))} />
              {one.status === 'paused'
                ? <Button icon="play" label="Resume" kind="quiet" onClick={() => act(actions.resume(one.sessionId))} />
                : <Button icon="pause" label="Pause" kind="quiet" onClick={() => act(actions.pause(one.sessionId))} />}
              <Button icon="trash" label="Delete" kind="quiet" onClick={() => removeSoon(one.sessionId, changed)} />
            </div>
          </div>
        ))}
        <div style={{ height: `${Math.max(0, sorted.length - first - shown.length) * rowHeight}px` }} />
      </div>
    </div>
  )
}

/** By how much it is more than what it was forked from. */
const change = (now: number, then: number): string => (now >= then ? `+${bytes(now - then)}` : `−${bytes(then - now)}`)

function Tree({ sessions }: { sessions: Session[] }) {
  const byId = new Map(sessions.map((one) => [one.sessionId, one]))
  const children = new Map<string | null, Session[]>()
  for (const one of sessions) {
    const parent = one.parent !== null && byId.has(one.parent) ? one.parent : null
    children.set(parent, [...(children.get(parent) ?? []), one])
  }
  const node = (one: Session, depth: number): preact.ComponentChildren => {
    const parent = one.parent === null ? undefined : byId.get(one.parent)
    const below = (children.get(one.sessionId) ?? []).sort((a, b) => a.createdAt.localeCompare(b.createdAt))
    return (
      <li key={one.sessionId} role="treeitem" aria-level={depth} data-session={one.sessionId} aria-expanded={below.length ? true : undefined}>
        <a class="node" href={`#/session/${one.sessionId}`}>
          <Icon name={one.parent === null ? 'file' : 'fork'} />
          <code>{short(one.sessionId)}</code>
          <Pill status={one.status} />
          <span class="soft">{name(one)}</span>
          <span class="delta">
            {parent
              ? <>files {change(one.fileBytes, parent.fileBytes)} · memory {change(one.memoryBytes, parent.memoryBytes)}</>
              : <>files {bytes(one.fileBytes)} · memory {bytes(one.memoryBytes)}</>}
          </span>
          <span class="soft figure">{age(one.createdAt)}</span>
        </a>
        {below.length > 0 && <ul role="group">{below.map((child) => node(child, depth + 1))}</ul>}
      </li>
    )
  }
  return <ul class="tree" role="tree" aria-label="Sessions and their forks">{(children.get(null) ?? []).map((one) => node(one, 1))}</ul>
}

export function Sessions({ sessions, loaded, refresh }: { sessions: Session[]; loaded: boolean; refresh: () => void }) {
  useClock()
  const [search, setSearch] = useState('')
  const [view, setView] = useState<'list' | 'tree'>('list')
  const [error, setError] = useState<unknown>()
  const [, redraw] = useState(0)
  const changed = () => {
    redraw((n) => n + 1)
    refresh()
  }
  const words = search.toLowerCase().split(/\s+/).filter(Boolean)
  const shown = sessions.filter((one) => !doomed.has(one.sessionId) &&
    words.every((word) => `${one.sessionId} ${one.status} ${one.door} ${JSON.stringify(one.metadata)}`.toLowerCase().includes(word)))
  const create = async () => {
    try {
      setError(undefined)
      const sessionId = await server.make({ ttl: 28_800 })
      refresh()
      go(sessionId)
    } catch (caught) {
      setError(caught)
    }
  }
  useEffect(() => {
    const keys = (event: KeyboardEvent) => {
      if (event.target instanceof HTMLInputElement || event.metaKey || event.ctrlKey) return
      if (event.key === '/') {
        event.preventDefault()
        document.getElementById('search')?.focus()
      }
      if (event.key === 'n') void create()
    }
    addEventListener('keydown', keys)
    return () => removeEventListener('keydown', keys)
  }, [])
  return (
    <section class="page">
      <header class="bar">
        <h1>Sessions <span class="count">{shown.length}</span></h1>
        <label class="search">
          <Icon name="search" />
          <span class="hidden">Search</span>
          <input id="search" type="search" placeholder="Search  /" value={search} onInput={(event) => setSearch(event.currentTarget.value)}
            // Back to the list, where n and the others are keys again.
            onKeyDown={(event) => { if (event.key === 'Escape') { setSearch(''); event.currentTarget.blur() } }} />
        </label>
        <div class="switch" role="group" aria-label="View">
          <button type="button" aria-pressed={view === 'list'} onClick={() => setView('list')}>List</button>
          <button type="button" aria-pressed={view === 'tree'} onClick={() => setView('tree')}>Tree</button>
        </div>
        <Button icon="add" kind="primary" onClick={() => void create()}>New session</Button>
      </header>
      <Trouble error={error} />
      {!loaded ? <div class="empty" aria-busy="true" /> : shown.length === 0
        ? search
          ? <Empty title="Nothing fits">No session has these words in its name, state or metadata.</Empty>
          : <Empty title="No sessions yet">An agent makes one with <code>POST /sessions</code> or <code>Sandbox(url=…)</code>. Or begin here: press <kbd>n</kbd>.</Empty>
        : view === 'list' ? <List sessions={shown} changed={changed} /> : <Tree sessions={shown} />}
    </section>
  )
}
